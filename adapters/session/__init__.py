"""What the sessions of a terminal, of ACP and of an API share."""
