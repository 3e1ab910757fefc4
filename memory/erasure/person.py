"""Deleting everything that a person said, and everything that was made of it.

`plan_erasure` finds it and changes nothing; `erase_person` deletes what a plan names. Other
people's messages that happen to mention the person stay: they are theirs. What an agent or a model
wrote for others stays without the person's words.

The audit log keeps its rows: others must stay able to see that nothing was taken out of it. A row
loses who it was, or what it was about, a half as a whole; the chain of hashes holds all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, Connection, Text, cast, delete, or_, select, tuple_, update

from contract.chat import SOURCE_ALIASES
from memory.erasure.bots import find_in_states
from memory.erasure.mentions import find_headers, find_mentions, find_rooms, find_sessions
from memory.erasure.plan import (
    COVERED,
    ErasedMessages,
    ErasurePlan,
    Identity,
    chunks,
    identity_of,
    keys,
    matches,
    plan_rows,
    turn_ids,
)
from memory.erasure.quoted_copies import find_quoted_copies
from store.gateway_schema import (
    audit,
    figures,
    grants,
    page_links,
    page_reads,
    page_sessions,
    page_subjects,
    page_users,
    pairings,
    persona_versions,
    refusals,
    room_settings,
    schedules,
    usage,
)
from store.schema import (
    decisions,
    episodes,
    fact_speakers,
    facts,
    insights,
    landmarks,
    messages,
    metadata,
    observations,
    pointers,
    posts,
    rooms,
    staging,
    tool_uses,
    turns,
)

EPISODE_LAYERS = ("episodes",)  # whose pointers are set back with the episodes


def plan_erasure(connection: Connection, person: str) -> ErasurePlan:
    """Find everything of a person."""
    ids = person_ids(person)
    plan = ErasurePlan(person, Identity(ids))
    plan.own = _own_scopes(connection, ids)
    _find_talk(connection, plan, ids)
    plan.identity = identity_of(connection, ids)
    said = ErasedMessages.of(connection, plan)
    _find_records(connection, plan, ids)
    _find_facts(connection, plan, ids, said)
    _find_derived(connection, plan, ids, said)
    find_headers(connection, plan, said)
    find_mentions(connection, plan, said)
    find_quoted_copies(connection, plan, ids)
    find_sessions(connection, plan, said)
    find_rooms(connection, plan)
    find_gateway_rows(connection, plan, ids)
    find_in_states(connection, plan, ids)
    return plan


def erase_person(connection: Connection, plan: ErasurePlan) -> None:
    """Delete what was found, and take its part from what stays."""
    for name, rows in plan.changed.items():
        table = metadata.tables[name]
        for key, values in rows.items():
            if key not in plan.rows[name]:
                connection.execute(update(table).where(matches(table, key)).values(values))
    for table in COVERED:
        for some in chunks(plan.rows.get(table.name, ())):
            connection.execute(delete(table).where(tuple_(*table.primary_key.columns).in_(some)))


def person_ids(person: str) -> frozenset[str]:
    """The sender ids that mean this person: a platform may have an alias."""
    source, _, external = person.partition(":")
    names = {source}
    for pair in SOURCE_ALIASES.items():
        if source in pair:
            names |= set(pair)
    return frozenset(f"{name}:{external}" for name in names)


# ── Where they spoke, and what was answered ─────────────────────────────────────────────


def _own_scopes(connection: Connection, ids: frozenset[str]) -> set[str]:
    """Their profile and direct messages.

    An id may itself be the beginning of another person's id: the longest one that is known owns
    the scope.
    """
    people = set(ids)
    for column in (messages.c.sender_id, facts.c.person, fact_speakers.c.sender_id):
        people |= set(connection.execute(select(column).distinct()).scalars())
    own = {f"profile:{one}" for one in ids}
    for table in COVERED:
        if "scope" in table.columns:
            scopes = connection.execute(select(table.c.scope).distinct()).scalars()
            own |= {scope for scope in scopes if _owner(scope, people) in ids}
    return own


def _owner(scope: str, people: Iterable[str | None]) -> str | None:
    owners = [one for one in people if one and scope.startswith(f"dm:{one}:")]
    return max(owners, key=len, default=None)


def _find_talk(connection: Connection, plan: ErasurePlan, ids: frozenset[str]) -> None:
    """Their messages, the turns those asked for, the answers to them, and what these asked for."""
    fresh = plan_rows(connection, plan, messages.c.sender_id, ids)
    fresh |= plan_rows(connection, plan, messages.c.scope, plan.own)
    plan_rows(connection, plan, turns.c.scope, plan.own)
    while fresh:
        plan_rows(connection, plan, turns.c.message_seq, {key[0] for key in fresh})
        fresh = plan_rows(connection, plan, messages.c.turn_id, turn_ids(connection, plan))
    plan_rows(connection, plan, figures.c.seq, plan.seqs(turns))
    paths = (messages.c.attachments,)
    for some in chunks(plan.seqs(messages)):
        for row in connection.execute(select(*paths).where(messages.c.seq.in_(some))):
            plan.files |= {item["path"] for item in row.attachments if item.get("path")}


# ── What was made of it ─────────────────────────────────────────────────────────────────


def _find_records(connection: Connection, plan: ErasurePlan, ids: frozenset[str]) -> None:
    """Plan the rows that hang on a turn, on a scope or on the person alone."""
    asked = turn_ids(connection, plan)
    for table in (posts, decisions, tool_uses, observations):
        plan_rows(connection, plan, table.c.turn_id, asked)
    for table in COVERED:
        if "scope" in table.columns:
            plan_rows(connection, plan, table.c.scope, plan.own)
    plan_rows(connection, plan, decisions.c.by, ids)
    plan_rows(connection, plan, insights.c.sender_id, ids)
    plan_rows(connection, plan, landmarks.c.by_id, ids)
    plan_rows(connection, plan, landmarks.c.author_id, ids)
    plan_rows(connection, plan, landmarks.c.message_seq, plan.seqs(messages))


def _find_facts(
    connection: Connection, plan: ErasurePlan, ids: frozenset[str], said: ErasedMessages
) -> None:
    """Facts about them or made of their words, and what was shared from those."""
    plan_rows(connection, plan, facts.c.person, ids)
    plan_rows(connection, plan, fact_speakers.c.sender_id, ids)
    plan_rows(connection, plan, facts.c.seq, plan.seqs(fact_speakers))
    attributed = select(fact_speakers.c.fact_seq)
    unknown = select(facts).where(facts.c.seq.not_in(attributed), facts.c.first_seq.is_not(None))
    plan.rows["facts"] |= {(row.seq,) for row in connection.execute(unknown) if said.within(row)}
    fresh = plan.seqs(facts)
    while fresh:
        plan.facts |= _fact_ids(connection, fresh)
        fresh = {key[0] for key in plan_rows(connection, plan, facts.c.shared_from, plan.facts)}
    plan_rows(connection, plan, fact_speakers.c.fact_seq, plan.seqs(facts))
    for some in chunks(plan.facts):
        query = select(facts.c.seq, facts.c.id).where(facts.c.replaced_by.in_(some))
        for row in connection.execute(query):
            if row.id not in plan.facts:
                plan.revived.add(row.id)
                plan.changed["facts"][(row.seq,)] = {"replaced_by": None, "indexed_by": None}


def _fact_ids(connection: Connection, seqs: Iterable[int]) -> set[str]:
    found: set[str] = set()
    for some in chunks(seqs):
        found |= set(connection.execute(select(facts.c.id).where(facts.c.seq.in_(some))).scalars())
    return found


def _find_derived(
    connection: Connection, plan: ErasurePlan, ids: frozenset[str], said: ErasedMessages
) -> None:
    """Extractions and summaries of a range with their words.

    A summary goes on from the one before: the later ones of the scope go too, and the layer's
    pointer goes back, so that it is made again of what is left.
    """
    for row in connection.execute(select(staging)):
        if said.within(row):
            plan.rows["staging"].add((row.seq,))
    covered: dict[str, int] = {}
    for row in connection.execute(select(episodes).order_by(episodes.c.seq)):
        if row.scope in covered or said.within(row):
            plan.rows["episodes"].add((row.seq,))
            covered[row.scope] = min(row.first_seq, covered.get(row.scope, row.first_seq))
    read = select(pointers).where(pointers.c.layer.in_(EPISODE_LAYERS))
    for row in connection.execute(read):
        if row.scope in covered and row.seq >= covered[row.scope]:
            back = {"seq": max(covered[row.scope] - 1, 0), "failures": 0}
            plan.changed["pointers"][row.layer, row.scope] = back


# ── The gateway's own tables ────────────────────────────────────────────────────────────

WHO = {"who_salt": "", "by_id": "", "by_name": ""}
WHAT: dict[str, Any] = {"what_salt": "", "room_id": None, "detail": {}}


def find_gateway_rows(connection: Connection, plan: ErasurePlan, ids: frozenset[str]) -> None:
    """Their account, roles, schedules and usage go; what they decided loses their name."""
    for column in (
        grants.c.person_id,
        page_links.c.person_id,
        page_links.c.by_id,
        page_reads.c.person_id,
        page_sessions.c.person_id,
        page_subjects.c.person_id,
        page_users.c.id,
        pairings.c.person_id,
        refusals.c.person_id,
        schedules.c.by_id,
        usage.c.person_id,
    ):
        plan_rows(connection, plan, column, ids)
    plan_rows(connection, plan, usage.c.turn_id, turn_ids(connection, plan))
    plan_rows(connection, plan, room_settings.c.scope, plan.own)
    _nameless(connection, plan, grants.c.by_id, ids, "")
    _nameless(connection, plan, pairings.c.by_id, ids, None)
    _nameless(connection, plan, persona_versions.c.by_id, ids, None)
    for row in connection.execute(
        select(*keys(room_settings)).where(_of(room_settings.c.by_id, ids))
    ):
        plan.changed["room_settings"].setdefault(tuple(row), {})["by_id"] = ""
    _find_audit(connection, plan, ids)


def _nameless(
    connection: Connection,
    plan: ErasurePlan,
    column: Column[str],
    ids: frozenset[str],
    empty: str | None,
) -> None:
    table = column.table
    for row in connection.execute(select(table.c.seq).where(_of(column, ids))):
        blank = {"by_id": empty, "by_name": empty}
        plan.changed[str(table.name)].setdefault((row.seq,), {}).update(blank)


def _find_audit(connection: Connection, plan: ErasurePlan, ids: frozenset[str]) -> None:
    """Rows of their acts, of turns that go, of their direct messages, and those that name them."""
    changed = plan.changed["audit"]
    for row in connection.execute(select(audit.c.seq).where(_of(audit.c.by_id, ids))):
        changed.setdefault((row.seq,), {}).update(WHO)
    told = cast(audit.c.detail, Text)
    named = or_(*(told.contains(f'"{one}"', autoescape=True) for one in sorted(ids)))
    wanted = [(audit.c.turn_id, turn_ids(connection, plan))]
    wanted += [(audit.c.room_id, plan.seqs(rooms))]
    conditions = [column.in_(some) for column, values in wanted for some in chunks(values)]
    for condition in (named, *conditions):
        query = select(audit.c.seq).where(condition, audit.c.what_salt != "")
        for row in connection.execute(query):
            changed.setdefault((row.seq,), {}).update(WHAT)
    if not changed:
        del plan.changed["audit"]


def _of(column: Column[str], ids: Iterable[str]):  # type: ignore[no-untyped-def]  # SQLAlchemy's
    return column.in_(sorted(ids))


def erased_rows(plan: ErasurePlan) -> dict[str, list[int]]:
    """The audit log's rows that lose a half, by the half."""
    changed = plan.changed.get("audit", {})
    return {
        half: [key[0] for key, values in changed.items() if f"{half}_salt" in values]
        for half in ("who", "what")
    }
