"""The page itself: its documents and what they are made of."""
