"""A program that nobody has described is watched while it answers, and described."""
