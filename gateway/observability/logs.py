"""Logging by structlog, on stderr: a line for people on a terminal, JSON otherwise. docs/logs.md.

Our events and the records of other libraries take one way: a handler of the standard library's
logging, whose thread orders, cleans and writes them. So whoever logs never waits for the pipe.
"""

from __future__ import annotations

import atexit
import copy
import json
import logging
import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter, plain_traceback
from structlog.processors import JSONRenderer, format_exc_info
from structlog.stdlib import BoundLogger, ProcessorFormatter, filter_by_level
from structlog.typing import EventDict, Processor, WrappedLogger

from gateway.core.log_context import subject
from gateway.core.redaction import Redactor
from gateway.settings.logs import LogFormat

log = structlog.stdlib.get_logger("moot.logs")

FOREIGN = "library.said"  # the event of what other libraries log, and of warnings
PROSE = "moot.said"  # the event of a record that the standard library's logging has of ours
LONGEST_VALUE = 4_000  # characters; a platform's error may quote a whole page
LONGEST_TRACEBACK = 40_000

ANSWERED = "agent.answered"
_STEPS = frozenset(
    {
        "agent.asked",
        "agent.ready",
        "answer.planned",
        "draft.failed",
        "draft.not_deleted",
        "memory.learned",
        "post.sent",
        "prompt.composed",
        "prompt.layer",
        "prompt.memory",
        "prompt.trimmed",
        "prompt.typed",
        "prompt.window",
        "session.ended",
        "session.opened",
        "turn.began",
        "turn.posted",
        "turn.queued",
    }
)
"""Events on the way of a question: on a terminal its answer is the one line of it, but at DEBUG."""

_HELD = 10_000  # lines that wait for a slow pipe; about 10 MB
_BATCH = 500  # lines written at once
_REST_S = 0.02  # between batches: each line by itself would take the interpreter from its writer
_CLOSE_S = 2.0  # a pipe that nobody reads must not keep the process
_NARROW = 100  # columns; narrower terminals are not shown a line's logger

_COLOURS = {
    "debug": "\x1b[2m",
    "info": "\x1b[32m",
    "warning": "\x1b[33m",
    "error": "\x1b[31m",
    "critical": "\x1b[31;1m",
}
_DIM, _BOLD, _CYAN, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m"

# ── What happens where something is logged ──────────────────────────────────────────────

_processors: list[Processor] = []
"""structlog's; changed in place, as loggers that were used once keep this list."""


def log_plainly() -> None:
    """Hand events on as `event key=value …` to whatever handlers the standard library has.

    So log the commands and the tests; `logging_to` changes it for `moot run`.
    """
    _processors[:] = [filter_by_level, _as_values, _plain_line]
    structlog.configure(
        processors=_processors,
        wrapper_class=BoundLogger,
        logger_factory=logging.getLogger,
        cache_logger_on_first_use=True,
    )


def _log_fields() -> None:
    log_plainly()
    _processors[:] = [
        filter_by_level,
        _as_values,
        format_exc_info,
        ProcessorFormatter.wrap_for_formatter,
    ]


def _as_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Numbers, truth values and None stay; everything else becomes text, now: it may change."""
    for name, value in event.items():
        if isinstance(value, str):
            if len(value) > LONGEST_VALUE or not value.isascii():
                event[name] = _cut(value)
        elif not (value is None or isinstance(value, bool | int | float) or name == "exc_info"):
            event[name] = _cut(str(value))
    return event


def _plain_line(
    _logger: WrappedLogger, _method: str, event: EventDict
) -> tuple[tuple[str], dict[str, Any]]:
    """Arguments for a method of a logger of the standard library."""
    given = {"exc_info": event.pop("exc_info")} if "exc_info" in event else {}
    name = event.pop("event")
    return (" ".join([name, *(f"{key}={value}" for key, value in event.items())]),), given


def _cut(text: str, most: int = LONGEST_VALUE) -> str:
    """The text, not too long; the bytes of a file's name that are no UTF-8 stand as `\\udcff`."""
    whole = text if len(text) <= most else f"{text[:most]}…"
    return whole.encode(errors="backslashreplace").decode()


# ── The thread that writes ──────────────────────────────────────────────────────────────


class Logs(logging.Handler):
    """Takes every record, as it was when it was logged, and lets a thread write it."""

    def __init__(self, stream: TextIO, redactor: Redactor, render: Processor) -> None:
        super().__init__()
        self._stream = stream
        self._redactor = redactor
        self._waiting: queue.SimpleQueue[logging.LogRecord | None] = queue.SimpleQueue()
        self._lost = 0
        self._closing = threading.Event()
        self.show(render)
        self._thread = threading.Thread(target=self._write, name="moot logs", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand it over. When too many wait, it is left out and counted."""
        if self._quiet and record.levelno == logging.INFO and _event(record) in _STEPS:
            return
        if self._waiting.qsize() >= _HELD:
            self._lost += 1
            return
        try:
            self._waiting.put(_as_it_is(record))
        except Exception:  # noqa: BLE001 - a line, whatever is wrong with it, must not end the work that logged it
            self._lost += 1

    def show(self, render: Processor, *, quiet: bool = False) -> None:
        """Write what comes from now on in another way. quiet: one line of each question."""
        self._quiet = quiet
        self._render = render

    def close(self) -> None:
        """Write what waits, for at most _CLOSE_S."""
        if self._thread.is_alive():
            self._closing.set()
            self._waiting.put(None)
            self._thread.join(_CLOSE_S)
        super().close()

    def _write(self) -> None:
        going_on = True
        while going_on:
            records = [self._waiting.get()]
            while len(records) < _BATCH and not self._waiting.empty():
                records.append(self._waiting.get_nowait())
            going_on = None not in records
            if lost := self._lost:
                self._lost -= lost
                records.append(_lines_lost(lost))
            lines = self._lines([record for record in records if record is not None])
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
            self._closing.wait(_REST_S)

    def _lines(self, records: Sequence[logging.LogRecord]) -> list[str]:
        """Looked through for secrets all at once, as nearly none of them holds one."""
        told = self._redactor.clean([_in_order(record, _fields_of(record)) for record in records])
        return [
            f"{self._render(None, record.levelname.lower(), line)!s}\n"
            for line, record in zip(told, records, strict=True)
        ]


def _event(record: logging.LogRecord) -> object:
    """The name of an event of ours; None: it is a library's line."""
    return record.msg.get("event") if isinstance(record.msg, dict) else None


def _as_it_is(record: logging.LogRecord) -> logging.LogRecord:
    """The record with its context; that of a library no longer refers to its arguments."""
    if record.args:
        record = copy.copy(record)
        with suppress(TypeError, ValueError, KeyError):  # else they don't fit: the text without
            record.msg = record.getMessage()
        record.args = ()
    record.subject = subject().told()
    return record


def _lines_lost(count: int) -> logging.LogRecord:
    line = {"event": "logs.lost", "lines": count}
    known = {"name": "moot.logs", "levelno": logging.WARNING, "levelname": "WARNING"}
    return logging.makeLogRecord({**known, "msg": line, "_logger": None, "_name": "warning"})


def _abandon(stream: TextIO) -> None:
    """Let what can't be written go nowhere: else the interpreter fails at its end, with 120."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it is no file
        return


def _fields_of(record: logging.LogRecord) -> EventDict:
    """The event of a record and its fields; a record that structlog did not make is prose."""
    if hasattr(record, "_logger") and isinstance(record.msg, dict):
        return dict(record.msg)
    ours = record.name.partition(".")[0] == "moot"
    event: EventDict = {"event": PROSE if ours else FOREIGN, "message": _cut(record.getMessage())}
    if record.exc_info:
        event["exc_info"] = record.exc_info
    return format_exc_info(None, record.levelname.lower(), event)


def _in_order(record: logging.LogRecord, event: EventDict) -> EventDict:
    """Time, level, logger and event first, then the event's fields, then what its task is about."""
    at = datetime.fromtimestamp(record.created, UTC).astimezone()
    line: EventDict = {
        "time": at.isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": event.pop("event"),
    }
    exception = event.pop("exception", None)
    for fields in (event, getattr(record, "subject", {})):
        for name, value in fields.items():
            line.setdefault(name, value)
    if exception is not None:
        line["exception"] = _cut(exception, LONGEST_TRACEBACK)
    return line


# ── From where, and at which level ──────────────────────────────────────────────────────


@contextmanager
def logging_to(
    stream: TextIO, redactor: Redactor, environment: Mapping[str, str]
) -> Iterator[Callable[[str, LogFormat], None]]:
    """Log there within the block, at INFO first; gives what changes level and format.

    Warnings and exceptions that nobody caught are logged as well.
    """
    logs = Logs(stream, redactor, _renderer("auto", stream, environment))

    def change(level: str, form: LogFormat) -> None:
        _set_levels(level)
        quiet = level != "DEBUG" and _for_people(form, stream)
        logs.show(_renderer(form, stream, environment, quiet=quiet), quiet=quiet)

    root = logging.getLogger()
    root.addHandler(logs)
    logging.captureWarnings(True)
    _log_fields()
    change("INFO", "auto")
    atexit.register(logs.close)
    try:
        with _origins_not_sought(), _uncaught_logged():
            yield change
    finally:
        log_plainly()
        root.removeHandler(logs)
        logs.close()
        atexit.unregister(logs.close)


def _set_levels(level: str) -> None:
    """Ours from that level on; others' from WARNING on, as below it they log bodies."""
    number = logging.getLevelNamesMapping()[level]
    logging.getLogger().setLevel(max(logging.WARNING, number))
    logging.getLogger("moot").setLevel(number)


@contextmanager
def _origins_not_sought() -> Iterator[None]:
    """Records without the file, thread, process and task that they come from: no line tells them,
    and to look for them is half of what a record costs ("Optimization" in Python's logging HOWTO).
    """
    names = ("logThreads", "logProcesses", "logMultiprocessing", "logAsyncioTasks", "_srcfile")
    before = {name: getattr(logging, name) for name in names if hasattr(logging, name)}
    for name in before:
        setattr(logging, name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(logging, name, value)


@contextmanager
def _uncaught_logged() -> Iterator[None]:
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook

    def elsewhere(caught: threading.ExceptHookArgs | sys.UnraisableHookArgs) -> None:
        _crashed(caught.exc_type, caught.exc_value or caught.exc_type(), caught.exc_traceback)

    sys.excepthook, threading.excepthook, sys.unraisablehook = _crashed, elsewhere, elsewhere
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("process.crashed", error=kind.__name__, exc_info=(kind, error, trace))


# ── How a line looks ────────────────────────────────────────────────────────────────────

as_json = JSONRenderer(json.dumps)
"""One object, in ASCII: no character of it ends a line for anybody."""


def _for_people(form: LogFormat, stream: TextIO) -> bool:
    return form == "human" or (form == "auto" and stream.isatty())


def _renderer(
    form: LogFormat, stream: TextIO, environment: Mapping[str, str], *, quiet: bool = False
) -> Processor:
    if not _for_people(form, stream):
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
