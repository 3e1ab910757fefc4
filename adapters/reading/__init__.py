"""A reply or a question, read from a screen."""
