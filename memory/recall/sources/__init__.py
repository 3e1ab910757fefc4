"""Other Mem0s that are read: how each kind is opened, and what is shown of it."""
