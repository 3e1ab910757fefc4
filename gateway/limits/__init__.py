"""How much people, rooms and personas may use, and what they did use."""
