"""The iMessage through BlueBubbles bot."""
