"""What programs record of conversations in their HOMEs, for other machines."""
