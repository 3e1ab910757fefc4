"""Mentions of a person who is deleted in other people's rows: prompts, quotations, sessions."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, func, select

from memory.erasure.plan import ErasedMessages, ErasurePlan, Identity, chunks, plan_rows
from store.schema import agent_sessions, facts, messages, rooms, sessions, turns

REQUIRED = frozenset({"source", "sender_id", "sender_display_name", "sender_type"})


def find_headers(connection: Connection, plan: ErasurePlan, said: ErasedMessages) -> None:
    """Others' prompts and records that carry their words or their name."""
    texts = _fact_texts(connection, plan)
    query = select(turns.c.seq, turns.c.scope, turns.c.states, turns.c.header, turns.c.record)
    for row in connection.execute(query):
        if (row.seq,) in plan.rows["turns"] or not (row.header or row.record):
            continue
        last = max((at for _, at in row.states), default=0)
        late = last >= said.since.get(row.scope, 2**62)
        shown = "" if late else f"{row.header}\n{row.record}"
        told = bool(shown) and any(text in shown for text in texts[row.scope] | texts[""])
        if told:
            plan.knowing.add(row.scope)
        if late or told or plan.identity.names(shown):
            plan.changed["turns"][(row.seq,)] = _blank(row)


def _blank(row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    """A turn without its prompt, and of its record nothing but how long the steps took."""
    timings = (row.record or {}).get("timings")
    return {
        "header": row.header and "",
        "record": {"timings": timings} if timings else {},
    }


def _fact_texts(connection: Connection, plan: ErasurePlan) -> dict[str, set[str]]:
    """The beginnings of the facts that go, by the scope in which they were told; "": in several."""
    found: dict[str, set[str]] = defaultdict(set)
    for some in chunks(plan.facts):
        query = select(facts.c.scope, facts.c.text).where(facts.c.id.in_(some))
        for row in connection.execute(query):
            text = " ".join(row.text.split())[:100]
            if len(text) >= 12:  # a shorter one says nothing of itself
                wanders = row.scope.startswith(("profile:", "project:"))
                found["" if wanders else row.scope].add(text)
    return found


def find_mentions(connection: Connection, plan: ErasurePlan, said: ErasedMessages) -> None:
    """Take quotations of and references to the person from other people's messages."""
    at = messages.c
    query = select(
        at.seq, at.scope, at.room_id, at.received_at, at.reply_to, at.meta, at.attachments
    )
    for row in connection.execute(query):
        if (row.seq,) in plan.rows["messages"]:
            continue
        plan.files -= {item.get("path") for item in row.attachments}  # somebody else's too
        change: dict[str, Any] = {}
        after = row.received_at >= said.since.get(row.scope, 2**62)
        kept = {
            key: value
            for key, value in row.meta.items()
            if key in REQUIRED or not (value and _quotes(key, value, after, plan.identity))
        }
        if kept != row.meta:
            change["meta"] = kept
        if (row.room_id, row.reply_to) in said.posts:
            change["reply_to"] = None
        if change:
            plan.changed["messages"][(row.seq,)] = change


def _quotes(key: str, value: Any, after: bool, identity: Identity) -> bool:
    if key in ("thread_context", "work"):
        return after or identity.names(str(value))
    return identity.identifies(str(value))


def find_sessions(connection: Connection, plan: ErasurePlan, said: ErasedMessages) -> None:
    """The agents' sessions that were told something: none of them is taken up again."""
    plan.knowing |= set(said.since)
    plan.knowing -= plan.own
    plan_rows(connection, plan, sessions.c.scope, plan.knowing)
    of = turns.c
    for some in chunks(plan.knowing):
        for turn in connection.execute(select(of.seq, of.record).where(of.scope.in_(some))):
            if turn.record and turn.record.get("session"):
                changed = plan.changed["turns"].setdefault((turn.seq,), {"record": turn.record})
                changed["record"].pop("session", None)
    at = agent_sessions.c
    for row in connection.execute(select(at.id, at.scope, at.ended_at)):
        if row.scope in plan.knowing:
            since = said.since.get(row.scope, 0)
            if row.ended_at is None or row.ended_at >= since:
                plan.rows["agent_sessions"].add((row.id,))


def find_rooms(connection: Connection, plan: ErasurePlan) -> None:
    """Rooms of theirs alone; a group's that is called after them gets its id for a name."""
    talked = select(messages.c.room_id, func.count()).group_by(messages.c.room_id)
    there: dict[str, int] = {row.room_id: row[1] for row in connection.execute(talked)}
    gone: dict[str, int] = defaultdict(int)
    for some in chunks(plan.seqs(messages)):
        query = select(messages.c.room_id).where(messages.c.seq.in_(some))
        for room_id in connection.execute(query).scalars():
            gone[room_id] += 1
    for row in connection.execute(select(rooms)):
        theirs = gone.get(row.id, 0)
        if row.kind not in ("room", "gdm") and theirs and theirs == there[row.id]:
            plan.rows["rooms"].add((row.id,))
        elif row.kind != "room" and theirs and plan.identity.names(row.name):
            plan.changed["rooms"][(row.id,)] = {"name": row.id.partition(":")[2]}
