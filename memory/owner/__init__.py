"""People's own commands over their memory."""
