"""moot.toml, the environment and the persona files, as values."""
