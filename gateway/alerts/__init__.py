"""Alerts to operators: what needs somebody, once, and again when it is over."""
