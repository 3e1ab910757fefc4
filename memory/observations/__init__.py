"""Observations of what agents did with their tools, and the log that searches them."""
