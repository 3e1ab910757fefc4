"""Records of conversations that programs keep in their HOMEs, for other machines."""
