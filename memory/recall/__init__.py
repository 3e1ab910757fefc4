"""Recall: facts, and the index that finds those that bear on a message."""
