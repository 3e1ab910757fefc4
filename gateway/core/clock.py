"""The time, as everything that takes a clock is given it."""

from __future__ import annotations

from datetime import UTC, datetime


def clock() -> datetime:
    """Now, aware."""
    return datetime.now(UTC)
