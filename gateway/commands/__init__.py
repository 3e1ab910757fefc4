"""The handlers of the commands that people give in a chat."""
