"""The row that lists and plots read of a turn, written in the commit that ends it."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, bindparam, select

from gateway.core.ledger import Turn
from store.database import Store, insert_of
from store.gateway_schema import figures
from store.schema import messages
from store.turn_metrics import STEPS, figure

_NAMES = ("at", "state", "command", "persona", "room_id", "total_ms", "queued_ms", *STEPS)
_ASKER = select(messages.c.sender_id).where(messages.c.seq == bindparam("message_seq"))


def figure_writer(store: Store) -> Callable[[Connection, Turn], None]:
    """Writes a turn's figure, or overwrites it."""
    new = insert_of(store)(figures).values(
        {
            "seq": bindparam("seq"),
            "person_id": _ASKER.scalar_subquery(),
            **{name: bindparam(name) for name in _NAMES},
        }
    )
    put = new.on_conflict_do_update(
        index_elements=["seq"], set_={name: new.excluded[name] for name in _NAMES}
    )

    def write(connection: Connection, turn: Turn) -> None:
        told = figure(state=turn.state, states=turn.states, record=turn.record, fault=turn.fault)
        row = {
            "seq": turn.seq,
            "message_seq": turn.message_seq,
            "persona": turn.speaker_name,
            "room_id": turn.room.id,
            "command": not turn.was_asked and turn.fault is None,
        }
        connection.execute(put, row | told)

    return write
