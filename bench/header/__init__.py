"""The lines that a header recalls, judged: see `__main__`."""
