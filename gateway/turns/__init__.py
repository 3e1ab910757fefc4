"""The way of one message, from a platform's event to the posted reply."""
