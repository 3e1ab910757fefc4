"""A program in a pseudo-terminal: opened, written, read, ended."""
