"""Pages of the memory for people who look at it."""
