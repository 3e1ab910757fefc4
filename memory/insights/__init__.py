"""Insights: short-lived notes on a person, and on how to work with them."""
