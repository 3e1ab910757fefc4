"""Summaries of what a window has no room for, and records of sessions."""
