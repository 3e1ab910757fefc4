"""What the house's own tables hold of a person who is deleted.

The audit log keeps its rows: others must stay able to see that nothing was taken out of it. A row
loses who it was, or what it was about, a half as a whole; the chain of hashes holds all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, Connection, Text, cast, or_, select

from memory.erasure.plan import ErasurePlan, chunks, keys, plan_rows, turn_ids
from store.gateway_schema import (
    audit,
    grants,
    pairings,
    persona_versions,
    refusals,
    room_settings,
    schedules,
    usage,
)
from store.schema import rooms

WHO = {"who_salt": "", "by_id": "", "by_name": ""}
WHAT: dict[str, Any] = {"what_salt": "", "room_id": None, "detail": {}}


def find_gateway_rows(connection: Connection, doomed: ErasurePlan, ids: frozenset[str]) -> None:
    """Their roles, schedules and usage go; what they decided for others loses their name."""
    for column in (
        grants.c.person_id,
        pairings.c.person_id,
        refusals.c.person_id,
        schedules.c.by_id,
        usage.c.person_id,
    ):
        plan_rows(connection, doomed, column, ids)
    plan_rows(connection, doomed, usage.c.turn_id, turn_ids(connection, doomed))
    plan_rows(connection, doomed, room_settings.c.scope, doomed.own)
    _nameless(connection, doomed, grants.c.by_id, ids, "")
    _nameless(connection, doomed, pairings.c.by_id, ids, None)
    _nameless(connection, doomed, persona_versions.c.by_id, ids, None)
    for row in connection.execute(
        select(*keys(room_settings)).where(_of(room_settings.c.by_id, ids))
    ):
        doomed.changed["room_settings"].setdefault(tuple(row), {})["by_id"] = ""
    _find_audit(connection, doomed, ids)


def _nameless(
    connection: Connection,
    doomed: ErasurePlan,
    column: Column[str],
    ids: frozenset[str],
    empty: str | None,
) -> None:
    table = column.table
    for row in connection.execute(select(table.c.seq).where(_of(column, ids))):
        blank = {"by_id": empty, "by_name": empty}
        doomed.changed[str(table.name)].setdefault((row.seq,), {}).update(blank)


def _find_audit(connection: Connection, doomed: ErasurePlan, ids: frozenset[str]) -> None:
    """Rows of their acts, of turns that go, of their direct messages, and those that name them."""
    changed = doomed.changed["audit"]
    for row in connection.execute(select(audit.c.seq).where(_of(audit.c.by_id, ids))):
        changed.setdefault((row.seq,), {}).update(WHO)
    told = cast(audit.c.detail, Text)
    named = or_(*(told.contains(f'"{one}"', autoescape=True) for one in sorted(ids)))
    wanted = [(audit.c.turn_id, turn_ids(connection, doomed))]
    wanted += [(audit.c.room_id, doomed.seqs(rooms))]
    conditions = [column.in_(some) for column, values in wanted for some in chunks(values)]
    for condition in (named, *conditions):
        query = select(audit.c.seq).where(condition, audit.c.what_salt != "")
        for row in connection.execute(query):
            changed.setdefault((row.seq,), {}).update(WHAT)
    if not changed:
        del doomed.changed["audit"]


def _of(column: Column[str], ids: Iterable[str]):  # type: ignore[no-untyped-def]  # SQLAlchemy's
    return column.in_(sorted(ids))


def erased_rows(doomed: ErasurePlan) -> dict[str, list[int]]:
    """The audit log's rows that lose a half, by the half."""
    changed = doomed.changed.get("audit", {})
    return {
        half: [key[0] for key, values in changed.items() if f"{half}_salt" in values]
        for half in ("who", "what")
    }
