"""A command-line agent in a terminal, from a prompt to its reply."""
