"""Facts out of conversations."""
