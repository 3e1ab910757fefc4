"""The Anthropic API: its client and its errors, for agents by API and for the memory's model."""
