"""Export and import of a memory."""
