"""Logs, traces, figures, and no secrets in them."""
