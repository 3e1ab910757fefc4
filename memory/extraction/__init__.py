"""Extraction: what was said becomes facts, by a model or as it stands."""
