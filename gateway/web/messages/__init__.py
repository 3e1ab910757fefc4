"""What people do with messages on the page once they are said."""
