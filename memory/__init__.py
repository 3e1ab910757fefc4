"""What is remembered, and who may see it."""
