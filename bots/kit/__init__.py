"""What all platforms share: files, reactions, names, kept state."""
