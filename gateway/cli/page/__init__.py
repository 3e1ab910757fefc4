"""Commands for the page and the API: signing in, people, tokens, and asking from a terminal."""
