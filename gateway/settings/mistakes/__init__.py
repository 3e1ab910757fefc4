"""Mistakes in files that people write: where each is, and what to write instead."""
