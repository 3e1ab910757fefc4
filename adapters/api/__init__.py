"""Models called by API as agents."""
