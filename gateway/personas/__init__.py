"""Persona files: read, checked, kept, tried."""
