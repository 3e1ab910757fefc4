"""How a line of the log looks: JSON, or for people on a terminal. docs/logs.md."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from typing import TextIO

from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter, plain_traceback
from structlog.typing import EventDict, Processor, WrappedLogger

from gateway.settings.logs import LogFormat

ANSWERED = "agent.answered"
_NARROW = 100  # columns; narrower terminals are not shown a line's logger

_COLOURS = {
    "debug": "\x1b[2m",
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[31;1m",
}
_DIM, _BOLD, _CYAN, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


def as_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """One object, in ASCII: no character of it ends a line for anybody."""
    return json.dumps(event)


def for_people(form: LogFormat, stream: TextIO) -> bool:
    return form == "human" or (form == "auto" and stream.isatty())


def renderer(
    form: LogFormat, stream: TextIO, environment: Mapping[str, str], *, quiet: bool = False
) -> Processor:
    if not for_people(form, stream):
        return as_json
    colour = stream.isatty() and not environment.get("NO_COLOR")
    return human(colour=colour, width=_columns(environment), quiet=quiet)


def human(*, colour: bool, width: int, quiet: bool = False) -> Processor:
    """Lines for people: time, level, event, keys; an exception below, indented. quiet: an answer
    is told in words, and of an exception its last line."""
    paint = (lambda code: code) if colour else (lambda code: "")
    reset = paint(_RESET)
    keys = KeyValueColumnFormatter(
        key_style=paint(_CYAN), value_style="", reset_style=reset, value_repr=_plain
    )
    shown = [
        Column("time", _Part(paint(_DIM), reset, 12)),
        Column("level", _Level(paint, reset)),
        Column("event", _Part(paint(_BOLD), reset, 20 if width >= _NARROW else 0)),
        Column("", keys),
    ]
    render = ConsoleRenderer(columns=shown, exception_formatter=plain_traceback, sort_keys=False)

    def line(logger: WrappedLogger, method: str, event: EventDict) -> str:
        told = {**event, "time": event["time"][11:23]}
        _shorten(told)
        if quiet:
            _in_words(told)
        name = told.pop("logger")
        if width >= _NARROW:
            told["logger"] = name
        exception = told.pop("exception", None)
        text = str(render(logger, method, told))
        if exception is None:
            return text
        lines = "".join(f"\n    {_printable(line)}" for line in exception.splitlines())
        return text + lines

    return line


def _shorten(told: EventDict) -> None:
    """Leave out what other keys of the line say already."""
    if told.get("trace_id") == told.get("turn"):
        told.pop("trace_id", None)
    room = str(told.get("room", ""))
    if room and str(told.get("session", "")).startswith(f"{told.get('persona')}@"):
        told.pop("session", None)
    if room.startswith(f"{told.get('bot')}:"):
        told.pop("bot", None)


def _in_words(told: EventDict) -> None:
    """What an operator who looks on wants to know; the rest is there at DEBUG."""
    if told["event"] == ANSWERED:
        fault = told["fault"]
        how = "answered in" if fault == "none" else f"failed ({fault}) after"
        told["event"] = f"{how} {told['in_ms'] / 1000:.1f} s"
        for name in told.keys() - {"time", "level", "event", "logger", "persona", "room", "by"}:
            del told[name]
    if (exception := told.pop("exception", None)) is not None:
        told["error"] = exception.rstrip().rpartition("\n")[2]


class _Part:
    """A value without its key."""

    def __init__(self, style: str, reset: str, width: int) -> None:
        self._style, self._reset, self._width = style, reset, width

    def __call__(self, key: str, value: object) -> str:
        return f"{self._style}{value!s:<{self._width}}{self._reset}"


class _Level:
    def __init__(self, paint: Callable[[str], str], reset: str) -> None:
        self._paint, self._reset = paint, reset

    def __call__(self, key: str, value: object) -> str:
        style = self._paint(_COLOURS.get(str(value), ""))
        return f"{style}{str(value).upper():<7}{self._reset}"


def _plain(value: object) -> str:
    """A value as it is where no blank, quote or control character is in it, else as JSON."""
    text = str(value)
    if text and text.isprintable() and not any(c in ' "=' for c in text):
        return text
    return '"' + _printable(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _printable(text: str) -> str:
    """Characters that steer a terminal, end a line or can't be seen, as their numbers."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _columns(environment: Mapping[str, str]) -> int:
    if (given := environment.get("COLUMNS", "")).isdigit():
        return int(given)
    return shutil.get_terminal_size((_NARROW, 24)).columns
