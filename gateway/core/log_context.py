"""The context of a task: the turn, room, persona, session and bot that it works for. Every log
line has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from weakref import WeakValueDictionary

from contract.values import dataclass
from gateway.core.ledger import Turn


@dataclass(slots=True, weakref_slot=True)
class LogContext:
    """Ids; "": not about one.

    A session's context is shared by all its tasks, some of which live longer than a turn: the
    turn that is taken is written into it, so that their lines name the turn of that moment.
    """

    turn: str = ""
    room: str = ""
    persona: str = ""
    session: str = ""
    bot: str = ""
    trace_id: str = ""

    def told(self) -> dict[str, str]:
        """Its known parts by their names."""
        return {name: value for name in _NAMES if (value := getattr(self, name))}


_NAMES = tuple(field.name for field in fields(LogContext))
_NOBODY = LogContext()
_now: ContextVar[LogContext] = ContextVar("subject", default=_NOBODY)


def subject() -> LogContext:
    """The context of this task now."""
    return _now.get()


@contextmanager
def log_context(it: LogContext) -> Iterator[LogContext]:
    """Work in this context within the block; tasks begun there inherit it."""
    token = _now.set(it)
    try:
        yield it
    finally:
        _now.reset(token)


@contextmanager
def own_log_context(**more: str) -> Iterator[LogContext]:
    """Add these to the task's context within the block."""
    it = replace(_now.get(), **more)
    token = _now.set(it)
    try:
        yield it
    finally:
        _now.reset(token)


@contextmanager
def turn_log_context(turn: Turn) -> Iterator[None]:
    """Work for a turn within the block, whatever its session does next."""
    token = _now.set(_of(turn))
    try:
        yield
    finally:
        _now.reset(token)


def keep_to_turn(turn: Turn) -> None:
    """Work for a turn until the block around is left, whatever its session does next."""
    _now.set(_of(turn))


def _of(turn: Turn) -> LogContext:
    return LogContext(turn.id, turn.room.id, turn.speaker_name, turn.key.id, turn.bot, turn.id)


class SessionLogContexts:
    """One context a session, kept for as long as a task works in it."""

    def __init__(self) -> None:
        self._of: WeakValueDictionary[str, LogContext] = WeakValueDictionary()

    @contextmanager
    def take(self, turn: Turn) -> Iterator[LogContext]:
        """The session is at this turn until the block is left."""
        persona = turn.speaker_name
        session = turn.key.id
        it = self._of.get(session)
        if it is None:
            it = self._of[session] = LogContext(persona=persona, session=session)
        it.turn = it.trace_id = turn.id
        it.room, it.bot = turn.room.id, turn.bot
        token = _now.set(it)
        try:
            yield it
        finally:
            _now.reset(token)
            if it.turn == turn.id:  # else the session has gone on
                it.turn = it.trace_id = ""
