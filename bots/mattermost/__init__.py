"""Mattermost, over its websocket and REST, and by webhook for buttons and slash commands."""
