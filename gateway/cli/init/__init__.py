"""`moot init`."""
