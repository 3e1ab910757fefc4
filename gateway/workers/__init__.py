"""Agents on other machines: who drives them there, and how the gateway asks them."""
