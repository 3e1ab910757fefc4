"""Markdown as a tree, written in each platform's dialect and split at its limits."""
