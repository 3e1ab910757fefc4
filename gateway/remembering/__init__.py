"""The memory layers, put together and fed in the background."""
