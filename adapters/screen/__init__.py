"""A terminal's screen: bytes in, rows of cells out, without any I/O."""
