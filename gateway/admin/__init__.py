"""What the page's administrator sees."""
