"""The database: its schema, its migrations, and the transcript of every room."""
