"""An agent each, over one driver of terminal programs."""
