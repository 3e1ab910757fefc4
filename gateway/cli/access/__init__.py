"""`moot access` and `moot pair`."""
