"""Times of day as people write them: `9:00`, `9am`, `17h30`, `9 o'clock`, `noon`. Pure."""

from __future__ import annotations

import re

Clock = tuple[int, int]  # hour and minute

_NAMED: dict[str, Clock] = {"noon": (12, 0), "midnight": (0, 0)}
_ONE = re.compile(
    r"(?:(?P<named>noon|midnight)"
    r"|(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2})|h(?P<past>\d{2})?)?"
    r"(?P<said>\s*(?:(?P<half>[ap])\.?m\b\.?|uhr\b|o['\u2019]clock\b))?)"
    r"(?![\w%/-]|[:.,]\d)",
    re.IGNORECASE,
)
_LISTED = re.compile(  # without blanks: 9:00,15:00
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2})|h(?P<past>\d{2})?)?"
    r"(?P<said>(?P<half>[ap])m)?(?P<named>)(?=,\d)",
    re.IGNORECASE,
)
_AT = re.compile(r"\s*(?:(at|on)\s+)?", re.IGNORECASE)
_AND = re.compile(r"(?:\s*,|\s+and\b|\s*&)(?:\s*and\b)?\s*(?:at\s+)?", re.IGNORECASE)
_BEHIND = " \t\r\n,;:\u2013\u2014"  # what people write between a time and what is asked


def read_times(text: str, *, bare: bool) -> tuple[list[Clock], str]:
    """The times of day that a text begins with, and the rest of it.

    bare: `9` is one, too, as it is behind `at`; behind a time only where that was bare itself.
    Raises ValueError, for people.
    """
    lead = _AT.match(text)
    at, bare = (lead.end(), bare or lead[1] is not None) if lead else (0, bare)
    found: list[Clock] = []
    end = 0
    while match := _LISTED.match(text, at) or _ONE.match(text, at):
        is_bare = _is_bare(match)
        if is_bare and not bare:
            break
        found.append(_clock(match))
        bare, end = is_bare, match.end()
        if (more := _AND.match(text, end)) is None:
            break
        at = more.end()
    return found, behind(text[end:]) if found else text


def behind(text: str) -> str:
    """The question, without what stands between it and the time."""
    return re.sub(r"\A[-\u2013\u2014]\s+", "", text.lstrip(_BEHIND))


def told(at: Clock) -> str:
    """A time as people say it: 9:05."""
    return f"{at[0]}:{at[1]:02}"


def _is_bare(match: re.Match[str]) -> bool:
    number = match["hour"]
    return number is not None and match[0].strip() == number


def _clock(match: re.Match[str]) -> Clock:
    if match["named"]:
        return _NAMED[match["named"].lower()]
    hour, minute = int(match["hour"]), int(match["minute"] or match["past"] or 0)
    if (half := match["half"]) is not None:
        if not 1 <= hour <= 12:
            raise ValueError(f"There is no `{match[0].strip()}`.")
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    if hour > 23 or minute > 59:
        raise ValueError(f"There is no `{match[0].strip()}`.")
    return hour, minute
