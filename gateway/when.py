"""What people say of time: `weekday 9:00`, `15 minutes`, `tomorrow 8:30`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from contract import MootError
from gateway.cron import BETWEEN, Cron

EXAMPLES = "`weekday 9:00`, `monday,thursday 9am`, `15 minutes`, `hour`, `month 8:00`"
ONCE_EXAMPLES = "`tomorrow 8:30`, `friday 17:00`, `2027-01-31 9:00`, `in 20 minutes`"

_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {name[:3]: name[:3] for name in _NAMES}
_ALSO = {"tues": "tue", "weds": "wed", "thur": "thu", "thurs": "thu"}
_DAY: Mapping[str, str] = {
    **_SHORT,
    **_ALSO,
    **{name: name[:3] for name in _NAMES},
    **{f"{name}s": name[:3] for name in _NAMES},
}
_SETS = {
    "day": ("*", "*"),
    "weekday": ("*", "mon-fri"),
    "weekdays": ("*", "mon-fri"),
    "weekend": ("*", "sat,sun"),
    "weekends": ("*", "sat,sun"),
    "month": ("1", "*"),
}
_UNITS = {
    **dict.fromkeys(("minute", "minutes", "min", "mins"), "minute"),
    **dict.fromkeys(("hour", "hours", "h"), "hour"),
}
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?(am|pm)?", re.IGNORECASE)
_NAMED_TIMES = {"noon": (12, 0), "midnight": (0, 0)}
_QUOTED = re.compile(r"[\"'`“”„]([^\"'`“”„]+)[\"'`“”„]\s*", re.DOTALL)
CRON_CHARS = 100
_FARTHEST = timedelta(days=366)


class WhenError(MootError):
    """What somebody said of time can't be read; `say` tells how to say it."""


@dataclass(frozen=True, slots=True)
class When:
    """Whenever. words: as people say it. cron: see Cron."""

    words: str
    cron: str


def read_when(text: str, *, zone: ZoneInfo, now: datetime, least: timedelta) -> tuple[When, str]:
    """When, and the rest of the text. least: the shortest time between two runs.

    Raises WhenError.
    """
    when, rest = _quoted(text) or _said(text)
    try:
        cron = Cron(when.cron, zone)
        runs = cron.after(now) is not None
        shortest = cron.shortest(now)
    except ValueError as error:
        raise _wrong(f"I can't read the cron line {when.cron!r}: {error}.") from None
    if not runs:
        raise _wrong(f"`{when.words}` never comes.")
    if shortest is not None and shortest < least:
        minutes = f"{least.total_seconds() / 60:g}"
        raise _wrong(f"`{when.words}` is too often: {minutes} minutes are the shortest time.")
    return when, rest


def read_once(text: str, *, zone: ZoneInfo, now: datetime) -> tuple[str, datetime, str]:
    """As people say it, the moment in UTC, and the rest. Raises WhenError."""
    words = text.split()
    if words[:1] == ["in"] and len(words) > 2:
        return _later(words, text, now)
    day = _day(words[0].lower(), now.astimezone(zone).date()) if words else None
    if day is None:
        raise _wrong_once("I don't know when that is.")
    times, rest = _times(_behind(text, 1))
    if len(times) != 1:
        raise _wrong_once("I need one time of day.")
    moment = datetime.combine(day, time(*times[0]), zone).astimezone(UTC)
    if moment <= now and words[0].lower() in _DAY:
        moment = datetime.combine(day + timedelta(days=7), time(*times[0]), zone).astimezone(UTC)
    return _checked(" ".join((words[0].lower(), _clock(times[0]))), moment, now), moment, rest


def _later(words: list[str], text: str, now: datetime) -> tuple[str, datetime, str]:
    unit = _UNITS.get(words[2].lower())
    number = int(words[1]) if words[1].isascii() and words[1].isdigit() and len(words[1]) < 6 else 0
    if unit is None or not number:
        raise _wrong_once("I don't know when that is.")
    moment = now + number * (timedelta(hours=1) if unit == "hour" else timedelta(minutes=1))
    return _checked(" ".join(words[:3]), moment, now), moment, _behind(text, 3)


def _checked(words: str, moment: datetime, now: datetime) -> str:
    if moment <= now:
        raise _wrong_once(f"`{words}` is over.")
    if moment - now > _FARTHEST:
        raise _wrong_once(f"`{words}` is more than a year away.")
    return words


def _day(word: str, today: date) -> date | None:
    if word in ("today", "tomorrow"):
        return today + timedelta(days=word == "tomorrow")
    if (name := _DAY.get(word)) is not None:
        return today + timedelta(days=(list(_SHORT).index(name) - today.weekday()) % 7)
    try:
        return date.fromisoformat(word)
    except ValueError:
        return None


# ── Again and again ─────────────────────────────────────────────────────────────────────


def _quoted(text: str) -> tuple[When, str] | None:
    match = _QUOTED.match(text)
    if match is None:
        return None
    line, rest = " ".join(match[1].split()), text[match.end() :]
    if line[:1].isalpha():
        return _said(line)[0], rest
    if len(line) > CRON_CHARS:
        raise _wrong(f"A cron line may have {CRON_CHARS} characters.")
    return When(f'"{line}"', line), rest


def _said(text: str) -> tuple[When, str]:
    words = text.lower().split()
    if not words:
        raise _wrong("Say when.")
    if words[0].isascii() and words[0].isdigit() and len(words) > 1:
        unit = _UNITS.get(words[1])
        if unit is None:
            raise _wrong(f"I don't know how long `{words[0]} {words[1]}` is.")
        return _every(int(words[0][:6]), unit), _behind(text, 2)
    if (unit := _UNITS.get(words[0])) is not None:
        return _every(1, unit), _behind(text, 1)
    days, said, count = _days(words)
    times, rest = _times(_behind(text, count))
    if not times:
        raise _wrong(f"Say at what time, e.g. `{said} 9:00`.")
    clocks = ",".join(_clock(one) for one in times)
    return When(f"{said} {clocks}", _lines(days, times)), rest


def _every(number: int, unit: str) -> When:
    whole = 60 if unit == "minute" else 24
    if not 0 < number < whole or whole % number:
        fitting = [n for n in range(1, whole) if whole % n == 0 and (unit == "hour" or n >= 5)]
        listed = ", ".join(map(str, fitting))
        raise _wrong(f"Every {number} {unit}s doesn't go into a day evenly; these do: {listed}.")
    words = unit if number == 1 else f"{number} {unit}s"
    if unit == "minute":
        return When(words, "* * * * *" if number == 1 else f"*/{number} * * * *")
    return When(words, "0 * * * *" if number == 1 else f"0 */{number} * * *")


def _days(words: list[str]) -> tuple[tuple[str, str], str, int]:
    """Day of the month and weekdays for cron, as people say it, and how many words that took."""
    if words[0] in _SETS:
        return _SETS[words[0]], words[0].removesuffix("s"), 1
    told = list(takewhile(_names_days, words))
    named = [_DAY[part] for word in told for part in word.split(",") if part in _DAY]
    if not named:
        raise _wrong(f"I don't know when `{words[0][:40]}` is.")
    days = [day for day in _SHORT if day in named]
    return ("*", ",".join(days)), ",".join(days), len(told)


def _names_days(word: str) -> bool:
    return word == "and" or all(part in _DAY for part in word.split(",") if part)


def _lines(days: tuple[str, str], times: list[tuple[int, int]]) -> str:
    """A cron line for each minute of the hour."""
    hours: dict[int, list[int]] = {}
    for hour, minute in sorted(set(times)):
        hours.setdefault(minute, []).append(hour)
    day, weekdays = days
    return BETWEEN.join(
        f"{minute} {','.join(map(str, at))} {day} * {weekdays}" for minute, at in hours.items()
    )


# ── Times of day ────────────────────────────────────────────────────────────────────────


def _times(text: str) -> tuple[list[tuple[int, int]], str]:
    """The times of day that a text begins with, and the rest of it."""
    found: list[tuple[int, int]] = []
    rest = text
    goes_on = True
    while goes_on:
        word, tail = _parted(rest)
        if not found and word.lower() in ("at", "on"):
            rest = tail
            continue
        if found and word.lower() == "and":
            word, tail = _parted(tail)
        half, behind = _parted(tail)
        if half.lower() in ("am", "pm") and word[-1:].isdigit():
            word, tail = word + half, behind
        pieces = [piece for piece in word.split(",") if piece]
        times = [_time(piece) for piece in pieces]
        if not times or None in times:
            break
        found += [one for one in times if one is not None]
        rest = tail
        goes_on = word.endswith(",") or _parted(tail)[0].lower() == "and"
    return found, rest


def _time(word: str) -> tuple[int, int] | None:
    """A time of day; None: none, as a bare `9` is."""
    if word.lower() in _NAMED_TIMES:
        return _NAMED_TIMES[word.lower()]
    match = _TIME.fullmatch(word)
    if match is None or not (match[2] or match[3]):
        return None
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[3]:
        if not 1 <= hour <= 12:
            raise _wrong(f"There is no `{word}`.")
        hour = hour % 12 + (12 if match[3].lower() == "pm" else 0)
    if hour > 23 or minute > 59:
        raise _wrong(f"There is no `{word}`.")
    return hour, minute


def _clock(at: tuple[int, int]) -> str:
    return f"{at[0]}:{at[1]:02}"


def _parted(text: str) -> tuple[str, str]:
    first, *rest = text.split(None, 1) or [""]
    return first, "".join(rest)


def _behind(text: str, words: int) -> str:
    """A text without its first words."""
    return "".join(text.split(None, words)[words:])


def _wrong(reason: str) -> WhenError:
    say = f"{reason} For example: {EXAMPLES}, or a cron line in quotes."
    return WhenError(say, say=say)


def _wrong_once(reason: str) -> WhenError:
    say = f"{reason} For example: {ONCE_EXAMPLES}."
    return WhenError(say, say=say)
