"""Export and import of the memory as lines of JSON."""
