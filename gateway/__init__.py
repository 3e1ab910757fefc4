"""The roof: knows every room, known by none."""
