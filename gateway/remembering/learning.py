"""The context of learning in the background, for its log lines and its trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.core.ledger import SessionKey
from gateway.core.log_context import LogContext, log_context
from gateway.observability.telemetry import Telemetry
from memory.layers import AnsweredTurn, EndedSession


@contextmanager
def learning_context(
    told: AnsweredTurn | EndedSession, telemetry: Telemetry | None
) -> Iterator[None]:
    """The block learns from a turn, or from a session's end."""
    turn_id = told.turn_id if isinstance(told, AnsweredTurn) else ""
    session = SessionKey(told.persona, told.scope).id
    began_ns = time.time_ns()
    with log_context(LogContext(turn_id, told.room.id, told.persona, session, trace_id=turn_id)):
        yield
    if telemetry is not None:
        learned = {"moot.room.id": told.room.id, "moot.persona": told.persona}
        telemetry.learned(learned, turn_id, began_ns)
