"""Who may do what, and who is who."""
