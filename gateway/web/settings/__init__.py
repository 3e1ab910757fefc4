"""moot.toml on the page: what it says, what a change would do, and writing it."""
