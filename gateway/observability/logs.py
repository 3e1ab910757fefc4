"""What is logged, on stderr: a line for people on a terminal, JSON otherwise. docs/logs.md.

Who logs never waits: a thread writes. It is structlog over the standard library's logging.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter, plain_traceback
from structlog.processors import JSONRenderer

from gateway.core.log_context import subject
from gateway.core.redaction import Redactor
from gateway.observability.log_events import Event, event_of
from gateway.settings.logs import LogFormat

log = logging.getLogger("moot.logs")

_HELD = 10_000  # lines that wait for a slow pipe; about 10 MB
_BATCH = 500  # lines written at once
_CLOSE_S = 2.0  # a pipe that nobody reads must not keep the process
_NARROW = 100  # columns; below that no line tells its logger

_COLOURS = {
    "debug": "\x1b[2m",
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[31;1m",
}
_DIM, _BOLD, _CYAN, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


class Logs(logging.Handler):
    """Takes every record, as it was when it was logged, and lets a thread write it."""

    def __init__(self, stream: TextIO, redactor: Redactor, render: Callable[[Event], str]) -> None:
        super().__init__()
        self._stream = stream
        self._redactor = redactor
        self._render = render
        self._waiting: queue.Queue[Event | None] = queue.Queue(_HELD)
        self._lost = 0
        self._thread = threading.Thread(target=self._write, name="moot logs", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand it over. When too many wait, it is left out and counted."""
        try:
            self._waiting.put_nowait(event_of(record, subject().told()))
        except Exception:  # noqa: BLE001 - a line, whatever is wrong with it, must not end the work it tells of
            self._lost += 1

    def show(self, render: Callable[[Event], str]) -> None:
        """Write what comes from now on in another way."""
        self._render = render

    def close(self) -> None:
        """Write what waits, for at most _CLOSE_S."""
        if self._thread.is_alive():
            try:
                self._waiting.put(None, timeout=_CLOSE_S)
            except queue.Full:
                pass
            else:
                self._thread.join(_CLOSE_S)
        super().close()

    def _write(self) -> None:
        going_on = True
        while going_on:
            events = [self._waiting.get()]
            while len(events) < _BATCH and not self._waiting.empty():
                events.append(self._waiting.get_nowait())
            going_on = None not in events
            lines = [self._line(event) for event in events if event is not None]
            if lost := self._lost:
                self._lost -= lost
                lines.append(self._line(_lines_lost(lost)))
            try:
                self._stream.write("".join(lines))
                self._stream.flush()
            except (BrokenPipeError, ValueError):  # nobody reads it any more
                _abandon(self._stream)
                return
            except OSError:  # a full disk: later lines may find room
                self._lost += len(lines)
                if not going_on:
                    _abandon(self._stream)

    def _line(self, event: Event) -> str:
        return self._render(self._redactor.clean(event)) + "\n"


def _abandon(stream: TextIO) -> None:
    """Let what can't be written go nowhere: else the interpreter fails at its end, with 120."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it is no file
        return


def _lines_lost(count: int) -> Event:
    record = logging.LogRecord(
        log.name, logging.WARNING, "", 0, "logs.lost lines=%d", (count,), None
    )
    return event_of(record, {})


@contextmanager
def logging_to(
    stream: TextIO, redactor: Redactor, environment: Mapping[str, str]
) -> Iterator[Callable[[str, LogFormat], None]]:
    """Log there within the block, at INFO first; gives what changes level and format.

    Warnings and exceptions that nobody caught are logged as well.
    """
    width = _columns(environment)

    def renderer(form: LogFormat) -> Callable[[Event], str]:
        terminal = stream.isatty()
        if form == "json" or (form == "auto" and not terminal):
            return as_json
        return human(colour=terminal and not environment.get("NO_COLOR"), width=width)

    logs = Logs(stream, redactor, renderer("auto"))

    def change(level: str, form: LogFormat) -> None:
        _set_levels(level)
        logs.show(renderer(form))

    root = logging.getLogger()
    root.addHandler(logs)
    logging.captureWarnings(True)
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    sys.excepthook = _crashed
    threading.excepthook = lambda told: _crashed(
        told.exc_type, told.exc_value or told.exc_type(), told.exc_traceback
    )
    sys.unraisablehook = lambda told: _crashed(
        told.exc_type, told.exc_value or told.exc_type(), told.exc_traceback
    )
    change("INFO", "auto")
    atexit.register(logs.close)
    try:
        yield change
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        root.removeHandler(logs)
        logs.close()
        atexit.unregister(logs.close)


def _set_levels(level: str) -> None:
    """Ours from that level on; others' from WARNING on, as below it they tell bodies."""
    number = logging.getLevelNamesMapping()[level]
    logging.getLogger().setLevel(max(logging.WARNING, number))
    logging.getLogger("moot").setLevel(number)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("process.crashed error=%s", kind.__name__, exc_info=(kind, error, trace))


_json = JSONRenderer(json.dumps)


def as_json(event: Event) -> str:
    """One object, in ASCII: no character of it ends a line for anybody."""
    return str(_json(None, "", dict(event)))


def human(*, colour: bool, width: int) -> Callable[[Event], str]:
    """Lines for people: time, level, event, keys; an exception below, indented."""
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

    def line(event: Event) -> str:
        told = {**event, "time": event["time"][11:23]}
        _shorten(told)
        logger = told.pop("logger")
        if width >= _NARROW:
            told["logger"] = logger
        exception = told.pop("exception", None)
        text = str(render(None, "", told))
        if exception is None:
            return text
        lines = "".join(f"\n    {_printable(line)}" for line in exception.splitlines())
        return text + lines

    return line


def _shorten(told: Event) -> None:
    """Without what other keys of the line tell."""
    if told.get("trace_id") == told.get("turn"):
        told.pop("trace_id", None)
    room = str(told.get("room", ""))
    if room and str(told.get("session", "")).startswith(f"{told.get('persona')}@"):
        told.pop("session", None)
    if room.startswith(f"{told.get('bot')}:"):
        told.pop("bot", None)


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
    """As it is where no blank, quote or control character is in it, else as JSON."""
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
