"""Roles, accounts and unknown users."""
