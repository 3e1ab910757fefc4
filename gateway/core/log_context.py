"""What the work of a task is about: its turn, room, persona, session and bot. Log lines and traces
tell it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from weakref import WeakValueDictionary

from gateway.core.ledger import Turn
from gateway.core.views import session_id


@dataclass(slots=True, weakref_slot=True)
class LogContext:
    """Ids; "": not about one.

    A session's is shared by all its tasks, of which some live longer than a turn: who takes a
    turn writes it in, so that a line of theirs tells the turn of that moment.
    """

    turn: str = ""
    room: str = ""
    persona: str = ""
    session: str = ""
    bot: str = ""
    trace_id: str = ""

    def told(self) -> dict[str, str]:
        """What is known of it, by name."""
        return {name: value for name in _NAMES if (value := getattr(self, name))}


_NAMES = tuple(field.name for field in fields(LogContext))
_NOBODY = LogContext()
_now: ContextVar[LogContext] = ContextVar("subject", default=_NOBODY)


def subject() -> LogContext:
    """What this task's work is about now."""
    return _now.get()


@contextmanager
def log_context(it: LogContext) -> Iterator[LogContext]:
    """Work on it within the block; tasks begun there are about it, too."""
    token = _now.set(it)
    try:
        yield it
    finally:
        _now.reset(token)


@contextmanager
def own_log_context(**more: str) -> Iterator[LogContext]:
    """What it is about already, and these."""
    it = replace(_now.get(), **more)
    token = _now.set(it)
    try:
        yield it
    finally:
        _now.reset(token)


def log_context_of(turn: Turn) -> LogContext:
    """Of a turn; the same for as long as it lives, whatever its session goes on to."""
    return LogContext(
        turn.id,
        turn.room.id,
        turn.speaker_name,
        session_id(turn.speaker_name, turn.scope),
        turn.bot,
        turn.id,
    )


class SessionLogContexts:
    """One subject a session, for as long as a task works on it."""

    def __init__(self) -> None:
        self._of: WeakValueDictionary[str, LogContext] = WeakValueDictionary()

    @contextmanager
    def take(self, turn: Turn) -> Iterator[LogContext]:
        """The session is at this turn until the block is left."""
        session = session_id(turn.speaker_name, turn.scope)
        it = self._of.get(session)
        if it is None:
            it = self._of[session] = LogContext(persona=turn.speaker_name, session=session)
        it.turn = it.trace_id = turn.id
        it.room, it.bot = turn.room.id, turn.bot
        try:
            with log_context(it):
                yield it
        finally:
            it.turn = it.trace_id = ""
