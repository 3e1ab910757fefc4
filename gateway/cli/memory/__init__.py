"""`moot memory`."""
