"""Setting up, looking after, backing up."""
