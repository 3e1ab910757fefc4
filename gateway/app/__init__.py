"""The composition root: every part of one gateway, made and ended in order."""
