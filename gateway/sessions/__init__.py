"""The agents' sessions: opened, pooled, suspended."""
