"""Summaries of older messages and of ended sessions."""
