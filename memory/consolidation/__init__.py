"""Consolidation."""
