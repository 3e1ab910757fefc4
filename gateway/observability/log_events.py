"""A log record as an event: its name and its keys. Pure."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

Event = dict[str, Any]
Subject = Mapping[str, str]

EVENT = re.compile(r"[a-z][a-z_]*\.[a-z][a-z_]*")
FOREIGN = "library.said"  # what other libraries log, and warnings
PROSE = "moot.said"  # a template of ours that names no event
LONGEST_VALUE = 4_000  # characters; a platform's error may quote a whole page
_OWN = "moot"

_PAIR = re.compile(r" (?=[a-z_]+=)")
_PLACE = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
_FIRST_KEYS = ("time", "level", "logger", "event")


def event_of(record: logging.LogRecord, subject: Subject) -> Event:
    """The record as `event`, keys of its template, and what its task is about.

    The name and the keys come from the template alone: what is put into it forges none.
    """
    event: Event = {
        "time": datetime.fromtimestamp(record.created, UTC)
        .astimezone()
        .isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
    }
    template = record.msg if isinstance(record.msg, str) else None
    ours = record.name.partition(".")[0] == _OWN
    parsed = _parse(template) if ours and template is not None else None
    args = record.args if isinstance(record.args, tuple) else None
    if parsed is None or (args is None and record.args):
        event |= {"event": PROSE if ours else FOREIGN, "message": _cut(_rendered(record))}
    else:
        event |= {"event": parsed[0], **_keys(parsed[1], args or ())}
    for name, value in subject.items():
        event.setdefault(name, value)
    if record.exc_info and record.exc_info[1] is not None:
        lines = traceback.format_exception(record.exc_info[1])
        event["exception"] = _cut("".join(lines).rstrip(), 10 * LONGEST_VALUE)
    return event


_Pairs = tuple[tuple[str, str, int], ...]
"""Key, what stands behind its `=`, and how many values that takes."""


@lru_cache(2_000)
def _parse(template: str) -> tuple[str, _Pairs] | None:
    """The event's name and its keys; None: the template is prose."""
    name, *pairs = _PAIR.split(template)
    if not EVENT.fullmatch(name):
        return None
    split = [pair.partition("=") for pair in pairs]
    return name, tuple((key, text, len(_PLACE.findall(text))) for key, _, text in split)


def _keys(pairs: _Pairs, args: tuple[object, ...]) -> Event:
    told: Event = {}
    at = 0
    for key, text, count in pairs:
        name = f"{key}_" if key in _FIRST_KEYS else key
        told[name] = _value(text, args[at : at + count])
        at += count
    return told


def _value(text: str, args: tuple[object, ...]) -> object:
    """A number as a number, everything else as text."""
    if len(args) == 1 and _PLACE.fullmatch(text):
        [arg] = args
        if isinstance(arg, bool | int) or arg is None:
            return arg
        if isinstance(arg, float):
            return _rounded(text, arg)
        return _cut(arg if isinstance(arg, str) else str(arg))
    try:
        return _cut(text % args)
    except (TypeError, ValueError):
        return _cut(text)


def _rounded(text: str, number: float) -> object:
    try:
        return float(text % number)
    except (TypeError, ValueError):
        return str(number)


def _rendered(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):  # it doesn't fit its values
        return str(record.msg)


def _cut(text: str, most: int = LONGEST_VALUE) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
