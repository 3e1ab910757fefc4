"""Counts of questions, tokens, money and seconds in the minute, hour, day or month that runs.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from contract.values import dataclass
from gateway.settings.limits import LimitTable

Kind = Literal["person", "room", "persona"]
What = Literal["questions", "tokens", "usd", "seconds"]
Window = Literal["minute", "hour", "day", "month"]

LIMITS: tuple[tuple[str, What, Window], ...] = (  # the longest first: it says the truest "until"
    ("tokens_a_month", "tokens", "month"),
    ("usd_a_month", "usd", "month"),
    ("seconds_a_month", "seconds", "month"),
    ("tokens_a_day", "tokens", "day"),
    ("usd_a_day", "usd", "day"),
    ("seconds_a_day", "seconds", "day"),
    ("questions_a_day", "questions", "day"),
    ("questions_an_hour", "questions", "hour"),
    ("questions_a_minute", "questions", "minute"),
)
"""Every key of a LimitTable."""

_WINDOWS: dict[What, tuple[Window, ...]] = {
    "questions": ("minute", "hour", "day"),
    "tokens": ("day", "month"),
    "usd": ("day", "month"),
    "seconds": ("day", "month"),
}


@dataclass(frozen=True, slots=True)
class LimitSubject:
    """The one whose limit it is. limits: those that hold for it."""

    kind: Kind
    id: str
    limits: LimitTable


@dataclass(frozen=True, slots=True)
class Over:
    """A limit that is reached. until: when its window ends."""

    subject: LimitSubject
    what: What
    window: Window
    most: float
    until: datetime

    @property
    def is_rate(self) -> bool:
        """True if it limits how often; else it limits how much."""
        return self.what == "questions"


def start_of(window: Window, now: datetime, zone: tzinfo) -> datetime:
    """The moment at which the window began that `now` is in, by the clock of the zone."""
    if window in ("minute", "hour"):  # by UTC: an hour that a zone repeats is two
        at = now.replace(second=0, microsecond=0)
        local = at.astimezone(zone)
        return at - timedelta(minutes=local.minute) if window == "hour" else at
    local = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return local.replace(day=1) if window == "month" else local


def end_of(window: Window, now: datetime, zone: tzinfo) -> datetime:
    """The moment at which the window ends that `now` is in."""
    start = start_of(window, now, zone)
    match window:
        case "minute":
            return start + timedelta(minutes=1)
        case "hour":
            return start + timedelta(hours=1)
        case "day":
            return start + timedelta(days=1)  # by the wall clock, which may leap
    return (start + timedelta(days=31)).replace(day=1)


@dataclass(slots=True)
class Counters:
    """Counts for each subject what it took in the window that runs; past windows are forgotten."""

    zone: tzinfo
    _held: dict[tuple[Kind, str, What, Window], tuple[datetime, float]] = field(
        default_factory=dict
    )

    def add(self, ids: Mapping[Kind, str], amounts: Mapping[What, float], at: datetime) -> None:
        """Each of these took so much at that moment; less than nothing gives it back."""
        starts: dict[Window, datetime] = {}
        for what, amount in amounts.items():
            for window in _WINDOWS[what]:
                if window not in starts:
                    starts[window] = start_of(window, at, self.zone)
                start = starts[window]
                for kind, id_ in ids.items():
                    key = (kind, id_, what, window)
                    known, held = self._held.get(key, (start, 0.0))
                    if known <= start:
                        held = held if known == start else 0.0
                        self._held[key] = (start, max(held + amount, 0.0))

    def held(self, kind: Kind, id_: str, what: What, window: Window, now: datetime) -> float:
        """The amount that it took in the window that `now` is in."""
        start, amount = self._held.get((kind, id_, what, window), (now, 0.0))
        return amount if start == start_of(window, now, self.zone) else 0.0

    def over(self, subject: LimitSubject, now: datetime, *, rates: bool = True) -> Over | None:
        """The limit of a subject that is reached. rates: those on questions count, too."""
        for name, what, window in LIMITS:
            most: float | None = getattr(subject.limits, name)
            if most is None or (what == "questions" and not rates):
                continue
            if self.held(subject.kind, subject.id, what, window, now) >= most:
                return Over(subject, what, window, most, end_of(window, now, self.zone))
        return None
