"""Days as people write them: `weekday`, `mon-fri`, `monday and thursday`, `31 January`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta

from contract.values import dataclass

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ALSO = {"tues": "tue", "weds": "wed", "thur": "thu", "thurs": "thu"}
_DAY: Mapping[str, str] = {
    **{day: day for day in WEEK},
    **_ALSO,
    **{name: name[:3] for name in _LONG},
    **{f"{name}s": name[:3] for name in _LONG},
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST = re.compile(r"\s*(?:(?:every|each|on|weekly)\b\s*)*", re.IGNORECASE)
_NAME = re.compile(r"([a-z]+)\b\.?,?\s*", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+\b\.?", re.IGNORECASE)
_BEHIND = re.compile(r"\s*(?:every|each|on|daily|weekdays|weekends|workdays)\b", re.IGNORECASE)
_TO = re.compile(r"\s*(?:-|\u2013|to\b|through\b|till\b|until\b)\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:(?:,|&|and\b)\s*)*", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:T|\b,?\s*)")
_POINTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})?(?!\d),?\s*")
_MONTH = "|".join(_MONTHS)
_DAY_MONTH = re.compile(
    rf"(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?({_MONTH})[a-z]*\.?(?:,?\s+(\d{{4}})\b)?,?\s*",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    rf"({_MONTH})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.h]\d)(?:,?\s+(\d{{4}})\b)?,?\s*",
    re.IGNORECASE,
)
_NEAR = re.compile(r"(today|tonight|tomorrow|day after tomorrow)\b,?\s*", re.IGNORECASE)
_THE = re.compile(r"\s*(?:(?:on|at|this|next|the)\s+)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Days:
    """On which days. said: as people say it. day, weekdays: fields of a cron line."""

    said: str
    day: str = "*"
    weekdays: str = "*"


EVERY_DAY = Days("day")
_WORKING = Days("weekday", weekdays="mon-fri")
_SETS: Mapping[str, Days] = {
    **dict.fromkeys(("day", "days", "daily"), EVERY_DAY),
    **dict.fromkeys(("weekday", "weekdays", "workday", "workdays"), _WORKING),
    **dict.fromkeys(("weekend", "weekends"), Days("weekend", weekdays="sat,sun")),
    **dict.fromkeys(("month", "monthly"), Days("month", day="1")),
}


def read_days(text: str) -> tuple[Days | None, str]:
    """The days that a text begins with, and the rest of it."""
    start = _skipped(_FIRST, text, 0)
    match = _NAME.match(text, start)
    if match and (days := _SETS.get(match[1].lower())) is not None:
        return days, text[match.end() :]
    named, end = _named(text, start)
    if not named:
        return None, text
    if named == set(WEEK[:5]):
        return _WORKING, text[end:]
    said = ",".join(day for day in WEEK if day in named)
    return Days(said, weekdays=said), text[end:]


def read_days_behind(text: str) -> tuple[Days, str]:
    """The days that are said behind a time: `9:00 on weekdays`, `9am every monday`; else all."""
    days, rest = read_days(text)
    if days is None or (
        days.said in ("day", "weekday", "weekend", "month") and not _BEHIND.match(text)
    ):
        return EVERY_DAY, text
    return days, rest


def read_date(text: str, today: date) -> tuple[str, date | None, str]:
    """The one day that a text begins with, as it was said and as it is, and the rest.

    A day without its year is the next one, today too.
    """
    start = _skipped(_THE, text, 0)
    for pattern, read in _DATES:
        if (match := pattern.match(text, start)) is not None:
            day = read(match, today)
            if day is not None:
                said = match[0].strip(" ,").removesuffix("T").lower()
                return " ".join(said.split()), day, text[match.end() :]
    return "", None, text


def _near(match: re.Match[str], today: date) -> date | None:
    ahead = {"tomorrow": 1, "day after tomorrow": 2}.get(match[1].lower(), 0)
    return today + timedelta(days=ahead)


def _weekday(match: re.Match[str], today: date) -> date | None:
    day = _DAY.get(match[1].lower())
    return None if day is None else today + timedelta((WEEK.index(day) - today.weekday()) % 7)


def _iso(match: re.Match[str], today: date) -> date | None:
    return _date(today, int(match[3]), int(match[2]), match[1])


def _points(match: re.Match[str], today: date) -> date | None:
    return _date(today, int(match[1]), int(match[2]), match[3])


def _day_month(match: re.Match[str], today: date) -> date | None:
    return _date(today, int(match[1]), _MONTHS.index(match[2].lower()) + 1, match[3])


def _month_day(match: re.Match[str], today: date) -> date | None:
    return _date(today, int(match[2]), _MONTHS.index(match[1].lower()) + 1, match[3])


_DATES = (
    (_NEAR, _near),
    (_ISO, _iso),
    (_POINTS, _points),
    (_DAY_MONTH, _day_month),
    (_MONTH_DAY, _month_day),
    (_NAME, _weekday),
)


def _date(today: date, day: int, month: int, year: str | None) -> date | None:
    try:
        found = date(int(year or today.year), month, day)
        return found if year or found >= today else found.replace(year=today.year + 1)
    except ValueError:
        return None


def is_weekday(word: str) -> bool:
    """True if it names a day of every week."""
    return word.lower().rstrip(".") in _DAY


def _named(text: str, at: int) -> tuple[set[str], int]:
    """The named days from there on, with those between two of them, and where they end."""
    found: set[str] = set()
    end = at
    while (match := _WORD.match(text, at)) is not None:
        first = _DAY.get(match[0].lower().rstrip("."))
        if first is None:
            break
        end = match.end()
        last, end = _last(text, end)
        found |= set(_between(first, last or first))
        at = _skipped(_AND, text, end)
    return found, end


def _last(text: str, at: int) -> tuple[str | None, int]:
    """The last day of a span, whose first ends there."""
    if (to := _TO.match(text, at)) and (match := _WORD.match(text, to.end())):
        last = _DAY.get(match[0].lower().rstrip("."))
        if last is not None:
            return last, match.end()
    return None, at


def _between(first: str, last: str) -> list[str]:
    start = WEEK.index(first)
    count = (WEEK.index(last) - start) % 7 + 1
    return [WEEK[(start + step) % 7] for step in range(count)]


def _skipped(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
