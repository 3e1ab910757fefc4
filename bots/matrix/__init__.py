"""The Matrix bot."""
