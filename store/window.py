"""The statements for the window of a prompt: a scope's newest messages, and the trigger."""

from __future__ import annotations

from sqlalchemy import and_, bindparam, case, exists, or_, select, union_all

from store.schema import messages, turns

_C = messages.c
MESSAGES = select(*(column for column in _C if column.name != "received_at"))
THERE = _C.deleted_at.is_(None)
_OF_PERSONA = exists().where(turns.c.message_seq == _C.seq, turns.c.persona == bindparam("persona"))
_OF_SESSION = turns.c.session_thread == bindparam("session_thread")
_QUEUED = turns.c.state == "queued"
_ASKS_ANOTHER = _OF_PERSONA.where(
    # what asks another session would be taken for the one that asks
    case((_OF_SESSION, _QUEUED), else_=_C.seq > bindparam("trigger"))
)
_T = messages.alias("of_thread").c
_OF_ROOM = select(_T.seq).where(_T.room_id == bindparam("room"))
IN_THREAD = _C.seq.in_(  # each by its own index; with `or_` SQLite looks through the whole room
    union_all(
        _OF_ROOM.where(_T.thread_id == bindparam("thread")),
        _OF_ROOM.where(_T.message_id == bindparam("thread")),
    )
)
_NEWEST = (
    select(_C.seq)
    .where(_C.scope == bindparam("scope"), _C.seq > bindparam("after"), THERE, ~_ASKS_ANOTHER)
    .order_by(_C.seq.desc())
    .limit(bindparam("size"))
)
WITHIN = select(_C.seq).where(
    _C.scope == bindparam("scope"),
    _C.seq.between(bindparam("first"), bindparam("last")),
    THERE,
    ~_OF_PERSONA.where(_OF_SESSION, _QUEUED),
)
WINDOW = MESSAGES.where(
    or_(
        _C.seq.in_(_NEWEST.scalar_subquery()),
        and_(_C.seq == bindparam("trigger"), _C.scope == bindparam("scope"), THERE),
    )
).order_by(_C.seq)
