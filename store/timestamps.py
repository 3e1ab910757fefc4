"""Days and times as people are told them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def day(at: datetime, zone: tzinfo) -> str:
    """YYYY-MM-DD: the day that it was in a zone."""
    return at.astimezone(zone).date().isoformat()


def minute(at: datetime, zone: tzinfo) -> str:
    """YYYY-MM-DD HH:MM, as clocks of a zone showed it."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def micros(at: datetime) -> int:
    """Microseconds since 1970, UTC."""
    return round(at.timestamp() * 1_000_000)


def moment(at: int) -> datetime:
    """The inverse of `micros`."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)
