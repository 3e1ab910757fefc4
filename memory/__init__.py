"""The memory: layers that remember what was said, and scopes that decide who sees it."""
