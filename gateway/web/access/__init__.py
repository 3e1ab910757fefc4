"""Roles and pairing codes in the HTTP API."""
