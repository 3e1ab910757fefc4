"""What of a message may reach the memory, as it is written down when it comes or is edited."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, String, and_, bindparam, case, func, select, update

from contract.chat import Inbound
from contract.private import OPEN, kind_of_private, may_be_private
from store.schema import messages, rooms
from store.timestamps import micros

KEPT = and_(  # what is said while its room is kept out of memory stays out for good
    bindparam("keep", type_=Boolean),
    select(rooms.c.include_in_memory).where(rooms.c.id == bindparam("of_room")).scalar_subquery(),
)
_EARLIER = messages.alias("earlier").c
_LEFT_OPEN = (  # the author's last message with a private part, in the same thread
    select(_EARLIER.private)
    .where(
        _EARLIER.scope == bindparam("of_scope"),
        _EARLIER.private.in_(("part", "open")),
        _EARLIER.sender_id == bindparam("of_sender"),
        _EARLIER.thread_id.is_not_distinct_from(bindparam("of_thread", type_=String)),
        _EARLIER.sent_at >= bindparam("open_since"),
    )
    .order_by(_EARLIER.seq.desc())
    .limit(1)
    .scalar_subquery()
)
PRIVATE = func.coalesce(bindparam("kind", type_=String), case((_LEFT_OPEN == "open", "all")))
"""By its own tags; else by what its author left open before it."""

EDIT = (
    update(messages)
    .where(messages.c.seq == bindparam("of"))
    .values(
        content=bindparam("text"),
        original=bindparam("first"),
        edited_at=bindparam("at"),
        private=case((messages.c.private == "all", "all"), else_=bindparam("kind")),
    )
)


def kept_values(inbound: Inbound, scope: str) -> dict[str, Any]:
    """The values that the statements for a new one take."""
    text = inbound.content
    return {
        "kind": kind_of_private(text) if may_be_private(text) else None,
        "keep": inbound.meta.include_in_memory,
        "of_room": inbound.room.id,
        "of_scope": scope,
        "of_sender": inbound.meta.sender_id,
        "of_thread": inbound.thread_id,
        "open_since": micros(inbound.sent_at - OPEN),
    }
