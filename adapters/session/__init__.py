"""The part of a session that the terminal, ACP and the API share."""
