"""The model that makes vectors of texts, its weights, and its package."""
