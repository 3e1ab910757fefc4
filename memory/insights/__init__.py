"""Pins and recommendations on a person."""
