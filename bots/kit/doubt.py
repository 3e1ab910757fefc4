"""A post whose outcome nobody told: which of the account's own messages it became."""

from __future__ import annotations

from datetime import datetime, timedelta

# A platform's clock and ours may differ by so much; a post that carries its key is ours, however
# early it seems.
CLOCK_SKEW = timedelta(seconds=120)


def oldest(since: datetime) -> datetime:
    """From when on a post that was sent at `since` is looked for, by the platform's clock."""
    return since - CLOCK_SKEW
