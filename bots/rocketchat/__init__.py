"""The Rocket.Chat bot."""
