"""The floor below the platforms: events, delivery, directories, files, waits, state on disk."""
