"""The owner of a memory: what they may see of it, and do with it."""
