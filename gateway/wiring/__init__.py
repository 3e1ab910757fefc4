"""How the parts of one gateway are made: a file for each group of them, `ground` first."""
