"""What is asked at its time."""
