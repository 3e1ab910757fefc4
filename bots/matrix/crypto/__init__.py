"""Who the bot is to other clients: its signing keys, its secrets, its backup of room keys."""
