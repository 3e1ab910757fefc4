"""Reads times as people write them: `weekday 9:00`, `15 minutes`, `tomorrow 8:30`. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from contract.errors import MootError
from contract.language import say
from contract.values import dataclass
from gateway.settings.cron import BETWEEN, Cron
from gateway.settings.days import Days, is_weekday, read_date, read_days, read_days_behind
from gateway.settings.mistakes.zones import known_zones
from gateway.settings.times import Clock, behind, read_times, told

EXAMPLES = "`weekday 9:00`, `monday,thursday 9am`, `15 minutes`, `hour`, `month 8:00`"
ONCE_EXAMPLES = "`tomorrow 8:30`, `friday 17:00`, `2027-01-31 9:00`, `in 20 minutes`"

_UNIT = r"(?P<unit>minutes?\b|mins?\b|m\b|hours?\b|hrs?\b|h\b|days?\b|weeks?\b)[,:]?"
_COUNT = r"(?P<count>\d{1,6}|an?\b|(?:a\s+)?half(?:\s+an?)?\b)"
_LONG = re.compile(rf"(?:(?:every|each)\s+)?(?:{_COUNT}\s*)?{_UNIT}", re.IGNORECASE)
_IN = re.compile(rf"in\s+{_COUNT}\s*{_UNIT}", re.IGNORECASE)
_HOURLY = re.compile(r"(?:every\s+)?hourly\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'`“”„]([^\"'`“”„]+)[\"'`“”„]\s*", re.DOTALL)
_CRON = re.compile(r"((?:[\d*][\d*/,-]*\s+){4}[\d*a-z][\da-z*,-]*)\s", re.IGNORECASE)
_ZONE = re.compile(r"\(?([A-Z]{3,4}|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+)\b\)?")
CRON_CHARS = 100
_FARTHEST = timedelta(days=366)


class WhenError(MootError):
    """Somebody's words for a time can't be read; `say` explains how to write it."""


@dataclass(frozen=True, slots=True)
class When:
    """Whenever. words: as people say it. cron: see Cron."""

    words: str
    cron: str


def read_when(text: str, *, zone: ZoneInfo, now: datetime, least: timedelta) -> tuple[When, str]:
    """The time, and the rest of the text. least: the shortest time between two runs.

    Raises WhenError.
    """
    try:
        when, rest = _quoted(text) or _unquoted(text) or _said(text)
        _check_zone(rest, zone)
    except ValueError as error:
        raise _wrong(str(error)) from None
    try:
        cron = Cron(when.cron, zone)
        runs = cron.after(now) is not None
        shortest = cron.shortest(now)
    except ValueError as error:
        raise _wrong(
            say("I can't read the cron line {cron}: {error}.", cron=f"{when.cron!r}", error=error)
        ) from None
    if not runs:
        raise _wrong(say("`{words}` never comes.", words=when.words))
    if shortest is not None and shortest < least:
        minutes = f"{least.total_seconds() / 60:g}"
        raise _wrong(
            say(
                "`{words}` is too often: {minutes} minutes are the shortest time.",
                words=when.words,
                minutes=minutes,
            )
        )
    return when, rest


def _check_zone(rest: str, zone: ZoneInfo) -> None:
    """Refuse a time in another zone than ours: it would come at another time than was meant."""
    match = _ZONE.match(rest)
    if match and match[1] in known_zones() and match[1] != zone.key:
        raise ValueError(
            say(
                "Times are those of {zone} here; leave `{match}` out.",
                zone=zone.key,
                match=match[1],
            )
        )


# ── Once ────────────────────────────────────────────────────────────────────────────────


def read_once(text: str, *, zone: ZoneInfo, now: datetime) -> tuple[str, datetime, str]:
    """The moment as people say it, and in UTC, and the rest of the text. Raises WhenError."""
    text = text.lstrip()
    try:
        words, moment, rest = _later(text, zone, now) or _on_a_day(text, zone, now)
        _check_zone(rest, zone)
    except ValueError as error:
        raise _wrong_once(str(error)) from None
    if moment <= now:
        raise _wrong_once(say("`{words}` is over.", words=words))
    if moment - now > _FARTHEST:
        raise _wrong_once(say("`{words}` is more than a year away.", words=words))
    return words, moment, rest


def _on_a_day(text: str, zone: ZoneInfo, now: datetime) -> tuple[str, datetime, str]:
    today = now.astimezone(zone).date()
    said, day, rest = read_date(text, today)
    times, rest = read_times(rest, bare=day is not None)
    if day is None and times:
        said, day, rest = read_date(rest, today) if _names_a_day(rest) else ("", None, rest)
        rest = behind(rest)
    if not times and day is None:
        raise ValueError(say("I don't know when that is."))
    if len(times) != 1:
        raise ValueError(say("I need one time of day."))
    moment = _at(day or today, times[0], zone)
    if moment <= now and (day is None or is_weekday(said)):
        moment = _at((day or today) + timedelta(days=7 if day else 1), times[0], zone)
    return f"{said} {told(times[0])}".strip(), moment, rest


def _names_a_day(rest: str) -> bool:
    """True if a day stands behind a time: `8:30 tomorrow`; not `17:00 monday's report`."""
    return re.match(r"(?:on\s|tomorrow\b|today\b|tonight\b)", rest, re.IGNORECASE) is not None


def _later(text: str, zone: ZoneInfo, now: datetime) -> tuple[str, datetime, str] | None:
    """`in 20 minutes`, `in 2h`, `in 3 days`; None: it isn't said like that."""
    match = _IN.match(text)
    if match is None:
        return None
    words, rest = " ".join(match[0].lower().rstrip(",:").split()), behind(text[match.end() :])
    number, unit = _counted(match)
    if unit == "half hour":
        return words, now + number * timedelta(minutes=30), rest
    if unit in ("minute", "hour"):
        return words, now + number * timedelta(minutes=60 if unit == "hour" else 1), rest
    if number > _FARTHEST.days:
        raise ValueError(say("`{words}` is more than a year away.", words=words))
    day = now.astimezone(zone) + number * timedelta(days=7 if unit == "week" else 1)
    times, rest = read_times(rest, bare=False)
    if len(times) == 1:
        return f"{words} {told(times[0])}", _at(day.date(), times[0], zone), rest
    return words, day.astimezone(UTC), rest


def _at(day: date, at: Clock, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(*at), zone).astimezone(UTC)


# ── Again and again ─────────────────────────────────────────────────────────────────────


def _quoted(text: str) -> tuple[When, str] | None:
    match = _QUOTED.match(text)
    if match is None:
        return None
    line, rest = " ".join(match[1].split()), text[match.end() :]
    if len(line) > CRON_CHARS:
        raise ValueError(say("A cron line may have {n} characters.", n=CRON_CHARS))
    if line[:1].isalpha() or (len(line.split()) < 5 and not line.startswith("*")):
        when, more = _said(line)
        return when, more or rest
    return When(f'"{line}"', line), rest


def _unquoted(text: str) -> tuple[When, str] | None:
    """A cron line that somebody typed without quotes."""
    match = _CRON.match(text)
    if match is None or "*" not in match[1]:
        return None
    line = " ".join(match[1].split())
    return When(f'"{line}"', line), text[match.end() :].lstrip()


def _said(text: str) -> tuple[When, str]:
    text = text.lstrip()
    if not text:
        raise ValueError(say("Say when."))
    if match := _HOURLY.match(text):
        return _every(1, "hour"), behind(text[match.end() :])
    days, rest = read_days(text)
    if days is None and (match := _LONG.match(text)):
        return _every(*_counted(match)), behind(text[match.end() :])
    times, rest = read_times(rest, bare=days is not None)
    if not times:
        raise ValueError(_no_time(days, text))
    if days is None:
        days, rest = read_days_behind(rest)
        rest = behind(rest)
    clocks = ",".join(map(told, times))
    return When(f"{days.said} {clocks}", _lines(days, times)), rest


def _no_time(days: Days | None, text: str) -> str:
    if days is not None:
        return say("Say at what time, e.g. `{said} 9:00`.", said=days.said)
    words = re.sub(r"\A(?:every|each|at|on)\s+", "", text, flags=re.IGNORECASE).split()
    if words and words[0].lower() in ("week", "weekly"):
        return say("Say on which day of the week, e.g. `monday 9:00`.")
    if len(words) > 1 and words[0].isascii() and words[0].isdigit():
        return say(
            "I don't know how long `{words} {words2}` is.",
            words=words[0][:20],
            words2=words[1][:20],
        )
    return say("I don't know when `{words}` is.", words=words[0][:40] if words else text[:40])


def _counted(match: re.Match[str]) -> tuple[int, str]:
    """A number and its unit: minute, half hour, hour, day, week. Raises ValueError."""
    count, unit = (match["count"] or "1").lower(), match["unit"].lower()
    unit = next(name for name in ("minute", "hour", "day", "week") if name[0] == unit[0])
    if "half" in count:
        if unit != "hour":
            raise ValueError(say("I don't know how long `{match}` is.", match=match[0]))
        return 1, "half hour"
    return int(count) if count.isdigit() else 1, unit


def _every(number: int, unit: str) -> When:
    if unit in ("day", "week"):
        said = (
            say("every {number} {unit}s", number=number, unit=unit)
            if number > 1
            else say("every {unit}", unit=unit)
        )
        raise ValueError(say("I can't do `{said}`: say which days, or a cron line.", said=said))
    if unit == "half hour":
        number, unit = 30, "minute"
    whole = 60 if unit == "minute" else 24
    if not 0 < number < whole or whole % number:
        fitting = [n for n in range(1, whole) if whole % n == 0 and (unit == "hour" or n >= 5)]
        listed = ", ".join(map(str, fitting))
        line = say(
            "Every {number} {unit}s doesn't go into a day evenly; these do: {listed}.",
            number=number,
            unit=unit,
            listed=listed,
        )
        raise ValueError(line)
    words = unit if number == 1 else f"{number} {unit}s"
    if unit == "minute":
        return When(words, "* * * * *" if number == 1 else f"*/{number} * * * *")
    return When(words, "0 * * * *" if number == 1 else f"0 */{number} * * *")


def _lines(days: Days, times: list[Clock]) -> str:
    """A cron line for each minute of the hour."""
    hours: dict[int, list[int]] = {}
    for hour, minute in sorted(set(times)):
        hours.setdefault(minute, []).append(hour)
    return BETWEEN.join(
        f"{minute} {','.join(map(str, at))} {days.day} * {days.weekdays}"
        for minute, at in hours.items()
    )


def _wrong(reason: str) -> WhenError:
    line = say(
        "{reason} For example: {examples}, or a cron line in quotes.",
        reason=reason,
        examples=EXAMPLES,
    )
    return WhenError(line, say=line)


def _wrong_once(reason: str) -> WhenError:
    line = say("{reason} For example: {examples}.", reason=reason, examples=ONCE_EXAMPLES)
    return WhenError(line, say=line)
