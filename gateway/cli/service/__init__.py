"""Moot as a service of this machine, and whether it runs."""
