"""Command-line programs that answer one prompt and end."""
