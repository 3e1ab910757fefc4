"""A post whose outcome nobody told: which of the account's own messages it became."""

from __future__ import annotations

from datetime import datetime, timedelta

# A platform's clock and ours may differ by so much; a post that carries its key is ours, however
# early it seems.
CLOCK_SKEW = timedelta(seconds=120)


def oldest(since: datetime) -> datetime:
    """The time, by the platform's clock, from which a post sent at `since` is looked for."""
    return since - CLOCK_SKEW
