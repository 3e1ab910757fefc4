"""Logging by structlog, on stderr: a line for people on a terminal, JSON otherwise. docs/logs.md.

Our events and the records of other libraries take one way: a handler of the standard library's
logging, whose thread orders, cleans and writes them. So whoever logs never waits for the pipe.
"""

from __future__ import annotations

import atexit
import copy
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn, TextIO

import structlog
from structlog.exceptions import DropEvent
from structlog.processors import format_exc_info
from structlog.stdlib import BoundLogger, filter_by_level
from structlog.typing import EventDict, Processor, WrappedLogger

from contract.values import dataclass
from gateway.core.log_context import subject
from gateway.core.redaction import Redactor
from gateway.observability.log_lines import for_people, renderer
from gateway.settings.logs import LogFormat

log = structlog.stdlib.get_logger("moot.logs")

FOREIGN = "library.said"  # the event of what other libraries log, and of warnings
PROSE = "moot.said"  # the event of a record that the standard library's logging has of ours
LONGEST_VALUE = 4_000  # characters; a platform's error may quote a whole page
LONGEST_TRACEBACK = 40_000

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


def _log_fields(logs: Logs) -> None:
    """Hand events to the thread that writes, without a record of the standard library's for each:
    to make one takes longer than all the rest."""
    log_plainly()
    _processors[:] = [filter_by_level, _as_values, format_exc_info, logs.take]


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


@dataclass(slots=True)
class _Line:
    """What was logged, as it was then. at: seconds since 1970. said: an event with its fields, or
    another library's record. about: what its task was about."""

    at: float
    level: str
    logger: str
    said: EventDict | logging.LogRecord
    about: Mapping[str, str] = field(default_factory=dict)


class Logs(logging.Handler):
    """Takes every event and every record, and lets a thread write it."""

    def __init__(self, stream: TextIO, redactor: Redactor, render: Processor) -> None:
        super().__init__()
        self._stream = stream
        self._redactor = redactor
        self._waiting: queue.SimpleQueue[_Line | None] = queue.SimpleQueue()
        self._lost = 0
        self._closing = threading.Event()
        self.show(render)
        self._thread = threading.Thread(target=self._write, name="moot logs", daemon=True)
        self._thread.start()

    def take(self, logger: WrappedLogger, method: str, event: EventDict) -> NoReturn:
        """structlog's last processor: an event of ours."""
        if not (self._quiet and method == "info" and event["event"] in _STEPS):
            level = _LEVELS.get(method, method)
            self._put(_Line(time.time(), level, logger.name, event, subject().told()))
        raise DropEvent

    def emit(self, record: logging.LogRecord) -> None:
        """A record of another library's."""
        try:
            said = _without_arguments(record)
            level = record.levelname.lower()
            self._put(_Line(record.created, level, record.name, said, subject().told()))
        except Exception:  # noqa: BLE001 - a line, whatever is wrong with it, must not end the work that logged it
            self._lost += 1

    def _put(self, line: _Line) -> None:
        """Hand it over. When too many wait, it is left out and counted."""
        if self._waiting.qsize() >= _HELD:
            self._lost += 1
        else:
            self._waiting.put(line)

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
            taken = [self._waiting.get()]
            while len(taken) < _BATCH and not self._waiting.empty():
                taken.append(self._waiting.get_nowait())
            going_on = None not in taken
            if lost := self._lost:
                self._lost -= lost
                event = {"event": "logs.lost", "lines": lost}
                taken.append(_Line(time.time(), "warning", "moot.logs", event))
            lines = self._lines([line for line in taken if line is not None])
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

    def _lines(self, taken: Sequence[_Line]) -> list[str]:
        """Looked through for secrets all at once, as nearly none of them holds one."""
        told = self._redactor.clean([_in_order(line) for line in taken])
        return [
            f"{self._render(None, line.level, shown)!s}\n"
            for shown, line in zip(told, taken, strict=True)
        ]


_LEVELS = {"warn": "warning", "exception": "error", "fatal": "critical"}


def _without_arguments(record: logging.LogRecord) -> logging.LogRecord:
    """The record; that of a library no longer refers to its arguments."""
    if record.args:
        record = copy.copy(record)
        with suppress(TypeError, ValueError, KeyError):  # else they don't fit: the text without
            record.msg = record.getMessage()
        record.args = ()
    return record


def _abandon(stream: TextIO) -> None:
    """Let what can't be written go nowhere: else the interpreter fails at its end, with 120."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it is no file
        return


def _fields_of(said: EventDict | logging.LogRecord) -> EventDict:
    """An event and its fields; a record that structlog did not make is prose."""
    if not isinstance(said, logging.LogRecord):
        return said
    ours = said.name.partition(".")[0] == "moot"
    event: EventDict = {"event": PROSE if ours else FOREIGN, "message": _cut(said.getMessage())}
    if said.exc_info:
        event["exc_info"] = said.exc_info
    return format_exc_info(None, said.levelname.lower(), event)


def _in_order(said: _Line) -> EventDict:
    """Time, level, logger and event first, then the event's fields, then what its task is about."""
    event = _fields_of(said.said)
    at = datetime.fromtimestamp(said.at).astimezone()
    line: EventDict = {
        "time": at.isoformat(timespec="milliseconds"),
        "level": said.level,
        "logger": said.logger,
        "event": event.pop("event"),
    }
    exception = event.pop("exception", None)
    for fields in (event, said.about):
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
    logs = Logs(stream, redactor, renderer("auto", stream, environment))

    def change(level: str, form: LogFormat) -> None:
        _set_levels(level)
        quiet = level != "DEBUG" and for_people(form, stream)
        logs.show(renderer(form, stream, environment, quiet=quiet), quiet=quiet)

    root = logging.getLogger()
    root.addHandler(logs)
    logging.captureWarnings(True)
    _log_fields(logs)
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
