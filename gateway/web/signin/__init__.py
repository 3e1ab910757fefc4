"""Who comes to the page and to the HTTP API: people who signed in, and programs with a token."""
