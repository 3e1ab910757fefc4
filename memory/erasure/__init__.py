"""Erasure: all that a person said, and all that was made of it, goes."""
