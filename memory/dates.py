"""Days as people are told them."""

from __future__ import annotations

from datetime import datetime, tzinfo


def day(at: datetime, zone: tzinfo) -> str:
    """YYYY-MM-DD: the day that it was in a zone."""
    return at.astimezone(zone).date().isoformat()
