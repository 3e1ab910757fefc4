"""`moot check`, `moot doctor` and `moot agents`."""
