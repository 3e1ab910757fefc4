"""A room's memory in the HTTP API."""
