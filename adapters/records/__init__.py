"""The agents' own records of their work, read as events."""
