"""Facts, and finding those that bear on a question."""
