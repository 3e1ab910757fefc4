"""Deleting people and their words from every layer."""
