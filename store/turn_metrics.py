"""Metrics of a turn that ended, as one narrow row: lists and plots never read the wide one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from store.gateway_schema import figures
from store.schema import messages, turns

CHUNK = 500  # turns that are read at a time; one may have 100 kB
MS = 1_000  # microseconds
STEPS = {  # a column's name to the step's on the turn's record
    "ready_ms": "agent ready",
    "brief_ms": "brief",
    "compose_ms": "compose",
    "agent_ms": "agent",
    "post_ms": "post",
}
ENDED = ("posted", "dropped")


def figure(
    *, state: str, states: Sequence[Sequence[Any]], record: Mapping[str, Any], fault: str | None
) -> dict[str, Any]:
    """The parts of a figure that a turn's states and record tell, in milliseconds."""
    since = {step[0]: step[1] for step in reversed(states)}  # the first time it came to each
    begun, ended = states[0][1], states[-1][1]
    timings = record.get("timings", {})
    taken = {column: timings.get(name) for column, name in STEPS.items()}
    steps = {column: None if ms is None else round(ms) for column, ms in taken.items()}
    prepared_ms = sum(steps[name] or 0 for name in ("ready_ms", "brief_ms", "compose_ms"))
    shown = "posted" if fault is None else "failed"
    if fault == "stopped" or (state == "dropped" and fault is None):
        shown = "stopped"
    queued_ms = None
    if "running" in since:  # a turn is told to run when its prompt has been composed
        queued_ms = max(0, (since["running"] - begun) // MS - prepared_ms)
    return {
        "at": begun,
        "state": shown,
        "total_ms": max(0, (ended - begun) // MS),
        "queued_ms": queued_ms,
        **steps,
    }


_TURNS = (
    select(
        turns.c.seq,
        turns.c.state,
        turns.c.states,
        turns.c.record,
        turns.c.fault,
        turns.c.header.is_(None).label("bare"),
        turns.c.persona,
        turns.c.room_id,
        messages.c.sender_id,
        messages.c.received_at,
    )
    .join(messages, messages.c.seq == turns.c.message_seq)
    .where(turns.c.seq > bindparam("after"), turns.c.state.in_(ENDED))
    .order_by(turns.c.seq)
    .limit(CHUNK)
)


def fill_turn_metrics(connection: Connection) -> None:
    """Make the figures of all turns that ended before there were any."""
    after = 0
    while rows := connection.execute(_TURNS, {"after": after}).all():
        after = rows[-1].seq
        connection.execute(
            insert(figures),
            [
                {
                    "seq": row.seq,
                    "persona": row.persona,
                    "room_id": row.room_id,
                    "person_id": row.sender_id,
                    "command": row.bare and row.fault is None,
                    **figure(
                        state=row.state,
                        states=row.states or [[row.state, row.received_at]],
                        record=row.record or {},
                        fault=row.fault,
                    ),
                }
                for row in rows
            ],
        )
