"""Limits for people, rooms and personas, and what they did use."""
