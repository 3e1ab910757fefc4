"""The page's administrator side."""
