"""Who let which agent do what."""
