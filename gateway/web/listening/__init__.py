"""Listening for HTTP: how many may come, and how long each may take."""
