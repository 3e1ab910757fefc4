"""A question: the terms that a search looks for, the times that it names, and what it is about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Literal

import regex

from contract.values import dataclass
from memory.recall.telling import telling
from memory.recall.words import MONTHS, WEEKDAYS, folded_terms, indexed, stem, terms

_ASKS_WHEN = regex.compile(
    r"\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year|week)"
    r"|how long|how many (?:days|weeks|months|years)|since)\b"
)
_ASKS_NAME = regex.compile(
    r"\b(?:who|whom|whose|where|which|names?|named|call|called|brands?|places?|cit(?:y|ies)"
    r"|countr(?:y|ies)|movies?|films?|books?|shows?|series|games?|songs?|bands?|music|restaurants?"
    r"|stores?|shops?)\b"
)
OF_TALK = frozenset(map(stem, ("mention", "discuss", "conversation", "talk", "tell", "share")))

DatePart = Literal["year", "month", "day"]


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A question, read: all that a search looks for.

    terms: of its text, each once, in their order; telling: those of them that tell what it is
    about. dates: the years, months and days of the month that it names. when, who: it asks for a
    time, for something with a name. days: the first and the last day of a time named by its
    distance, like "last week".
    """

    terms: tuple[str, ...]
    dates: tuple[tuple[DatePart, int], ...] = ()
    when: bool = False
    who: bool = False
    days: tuple[date, date] | None = None
    telling: frozenset[str] = frozenset()


def question(text: str, now: datetime) -> SearchQuestion:
    """Read a question asked at `now`."""
    folded = indexed(text)
    return SearchQuestion(
        terms=tuple(dict.fromkeys(folded_terms(folded))),
        telling=frozenset(telling(text).terms),
        dates=tuple(_dates(folded)),
        when=_ASKS_WHEN.search(folded) is not None,
        who=_ASKS_NAME.search(folded) is not None,
        days=_days(folded, now.date()),
    )


_WORD = regex.compile(r"(?P<word>[\p{L}\p{M}\p{N}]+)(?:['’`]s\b)?")


def without(text: str, is_name: Callable[[str], bool]) -> str:
    """A question without the words whose terms are names; as it is, if nothing else is left."""

    def left(match: regex.Match[str]) -> str:
        found = terms(match["word"])
        return "" if found and all(map(is_name, found)) else match[0]

    rest = _WORD.sub(left, text)
    return rest if _WORD.search(rest) else text


_ISO = regex.compile(r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b")
_YEAR = regex.compile(r"\b(?:19|20)\d\d\b")
_MONTH = regex.compile(rf"\b(?:{'|'.join(m for m in MONTHS if m != 'may')})\b")
# "may" is a month only beside a number or after a preposition.
_MAY = regex.compile(
    r"\b(?:in|of|since|during|until|by|last|next|this|early|late|mid|\d{1,2}(?:st|nd|rd|th)?) may\b"
    r"|\bmay,? \d"
)
_DAY = regex.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(MONTHS)})\b"
    rf"|\b(?:{'|'.join(MONTHS)}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b"
)


_SHORT_NAMES = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_SHORT = regex.compile(
    rf"(?<=\b\d{{1,2}}(?:st|nd|rd|th)? )(?:{_SHORT_NAMES})\b|\b(?:{_SHORT_NAMES})(?=\.? \d)"
)
_LONG = {month[:3]: month for month in MONTHS}
_DOTTED = regex.compile(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?:19|20)\d\d\b")


def _dates(folded: str) -> list[tuple[DatePart, int]]:
    folded = _SHORT.sub(lambda short: _LONG[short[0][:3]], folded)
    found: list[tuple[DatePart, int]] = [("year", int(year)) for year in _YEAR.findall(folded)]
    found += [("month", MONTHS.index(month) + 1) for month in _MONTH.findall(folded)]
    if _MAY.search(folded):
        found.append(("month", 5))
    found += [("day", int(match["d"])) for match in _DAY.finditer(folded)]
    for dotted in _DOTTED.finditer(folded):
        found += [("month", int(dotted["m"])), ("day", int(dotted["d"]))]
    for iso in _ISO.finditer(folded):
        found.append(("month", int(iso["m"])))
        if iso["d"]:
            found.append(("day", int(iso["d"])))
    return list(dict.fromkeys(found))


_AGO = regex.compile(
    r"\b(?P<n>\d{1,3}|a|an|one|two|three|four) (?P<unit>day|week|month|year)s? ago\b"
)
_PERIOD = regex.compile(r"\b(?P<which>last|this|past) (?P<unit>week|weekend|month|year)\b")
_LAST_DAY = regex.compile(rf"\b(?:last|on|this) (?P<day>{'|'.join(WEEKDAYS)})\b")
_SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_LENGTH = {"day": 1, "week": 7, "month": 30, "year": 365}


def _days(folded: str, today: date) -> tuple[date, date] | None:
    """The days that a distance from today names, a little wide: people are not exact."""
    if "yesterday" in folded:
        return today - timedelta(1), today - timedelta(1)
    if regex.search(r"\b(?:today|this morning)\b", folded):
        return today, today
    if match := _AGO.search(folded):
        length = _LENGTH[match["unit"]]
        amount = _SMALL.get(match["n"]) or int(match["n"])
        day = today - timedelta(min(amount * length, 40_000))
        return day - timedelta(length // 3), day + timedelta(length // 3)
    if match := _PERIOD.search(folded):
        return _period(match["which"], match["unit"], today)
    if match := _LAST_DAY.search(folded):
        back = (today.weekday() - WEEKDAYS.index(match["day"])) % 7 or 7
        return today - timedelta(back), today - timedelta(back)
    return None


def _period(which: str, unit: str, today: date) -> tuple[date, date]:
    monday = today - timedelta(today.weekday())
    if unit in ("week", "weekend"):
        first = monday if which == "this" else monday - timedelta(7)
        return (first + timedelta(5) if unit == "weekend" else first), first + timedelta(6)
    if unit == "month":
        first = today.replace(day=1)
        if which != "this":
            first = (first - timedelta(1)).replace(day=1)
        return first, (first + timedelta(31)).replace(day=1) - timedelta(1)
    year = today.year if which == "this" else today.year - 1
    return date(year, 1, 1), date(year, 12, 31)
