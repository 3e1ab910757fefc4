"""Times as people in the room read them."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from contract.errors import ConfigError

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")
_OF_THIS_MACHINE = {"localtime", "posixrules", "Factory"}


def zone(name: str) -> tzinfo:
    """The IANA time zone of that name. Raises ConfigError."""
    if _KEY.fullmatch(name) and name not in _OF_THIS_MACHINE:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):  # unknown; malformed data; a folder such as Asia
            pass
    raise ConfigError(f"timezone: {name[:80]!r} is no IANA time zone; write e.g. Asia/Jakarta")


def local(at: datetime, where: tzinfo) -> datetime:
    """The same moment on the room's clocks; unchanged within a day of the calendar's ends."""
    if at.tzinfo is None:
        raise ConfigError("a time without its offset from UTC; write e.g. 2026-04-21T14:02+07:00")
    try:
        return at.astimezone(where)
    except OverflowError:
        return at


def hours(at: datetime, where: tzinfo) -> str:
    """`HH:MM`."""
    there = local(at, where)
    return f"{there.hour:02d}:{there.minute:02d}"
