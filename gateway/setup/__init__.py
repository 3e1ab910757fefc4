"""Connecting an agent: its program, its login, its folder, and one question asked for real."""
