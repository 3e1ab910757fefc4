"""Records of the agents' own work."""
