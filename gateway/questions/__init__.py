"""Agents' permission questions."""
