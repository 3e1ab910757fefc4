"""Persona files: read and checked."""
