"""Text out of values; no I/O at all."""
