"""Agents as data: one file a command-line agent."""
