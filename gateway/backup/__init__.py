"""Backups: made while Moot runs, and put back."""
