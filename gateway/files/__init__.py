"""The files of messages, where several machines may need them."""
