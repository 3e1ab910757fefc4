"""The commands of `moot`."""
