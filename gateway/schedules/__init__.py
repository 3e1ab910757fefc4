"""Questions that are asked at their time."""
