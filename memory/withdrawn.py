"""Turns from which nothing may be learned any more, looked at when what was learned is kept."""

from __future__ import annotations

from sqlalchemy import Connection, and_, bindparam, select, union_all

from store.schema import messages, turns

_M = messages.c
_GONE = _M.deleted_at.is_not(None) | ~_M.include_in_memory
_TURN = turns.c.id == bindparam("turn")
_ANSWERS = (_M.scope == turns.c.scope, _M.seq > turns.c.message_seq, _M.turn_id == turns.c.id)
_WITHDRAWN = union_all(  # by the index of the scope's messages, from the question on
    select(_M.seq).join(turns, turns.c.message_seq == _M.seq).where(_TURN, _GONE),
    select(_M.seq).join(turns, and_(*_ANSWERS)).where(_TURN, _GONE),
)


def is_withdrawn(connection: Connection, turn_id: str) -> bool:
    """True if a turn's message or its answer was deleted or forgotten: what a model makes of it
    must not be kept."""
    return connection.execute(_WITHDRAWN, {"turn": turn_id}).first() is not None
