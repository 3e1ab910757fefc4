"""What people may do with what is remembered of them: see it, share it, take it back."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from contract import MootError, Room
from memory.facts import NewFact, StoredFact, add_facts, facts_in, remove_facts
from memory.gate import Gate
from memory.private import has_private
from memory.recall import Recall
from memory.schema import (
    agent_sessions,
    episodes,
    facts,
    insights,
    landmarks,
    messages,
    observations,
    rooms,
    staging,
    tool_uses,
)
from memory.scopes import Invocation, home_scope
from memory.slices import Slices
from memory.store import Store
from memory.transcript import Stored

log = logging.getLogger("moot.memory")

SOURCE = "!share"
PAGE = 1000
PLAIN_KINDS = ("message", "project")  # where a fact was learned or lies: no kind of its own


class Refusal(MootError):
    """What a person asked of their memory can't be done; the sentence is for them."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody who speaks about their own memory, and where: it bounds what they see and touch."""

    at: Invocation
    name: str

    @property
    def id(self) -> str:
        """Their sender id."""
        return self.at.sender_id

    @property
    def home(self) -> str:
        """The scope of what is said here."""
        return home_scope(self.at.room, self.at.sender_id, self.at.persona)

    @property
    def profile(self) -> str:
        """The scope of what they shared."""
        return f"profile:{self.id}"

    @property
    def alone(self) -> bool:
        """Whether everything here is theirs: a direct message."""
        return self.home.startswith("dm:")

    def gate(self) -> Gate:
        """What may be seen here."""
        return Gate.of(self.at)


@dataclass(frozen=True, slots=True)
class Insight:
    """A note on a person as it lies on disk. kind: "pin" or "recommendation"."""

    scope: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a person, as far as it may be seen where they ask.

    kept: what is said here is remembered; excluded: the configuration says that it isn't.
    """

    facts: tuple[StoredFact, ...]
    insights: tuple[Insight, ...]
    kept: bool
    excluded: bool


class Keeper:
    """Carries it out. recall: None where nothing is recalled."""

    def __init__(
        self,
        store: Store,
        slices: Slices,
        recall: Recall | None,
        clock: Callable[[], datetime],
        settled: Callable[[str], Awaitable[None]],
    ) -> None:
        """settled: returns once nothing is being learned any more from what was said in a scope."""
        self._store = store
        self._slices = slices
        self._recall = recall
        self._clock = clock
        self._settled = settled

    # ── Seeing ──────────────────────────────────────────────────────────────────────────

    async def known(self, owner: Owner) -> Known:
        """What is known of them here."""

        def work(connection: Connection) -> Known:
            gate = owner.gate()
            own = _about(connection, owner, gate)
            notes = _insights(connection, owner)
            kept = connection.execute(_IS_KEPT.where(rooms.c.id == owner.at.room.id)).scalar()
            return Known(
                facts=tuple(gate.admit("facts", own)),
                insights=tuple(gate.admit("insights", notes)),
                kept=kept is not False,
                excluded=self._slices.excludes(owner.at.room.id),
            )

        return await self._store.read(work)

    async def keep(self, room_id: str, kept: bool) -> None:
        """Let what is said in a room reach the memory from now on, or not."""
        change = update(rooms).where(rooms.c.id == room_id).values(include_in_memory=kept)
        await self._store.write(lambda connection: connection.execute(change))

    # ── Sharing ─────────────────────────────────────────────────────────────────────────

    async def share_fact(self, owner: Owner, seq: int, *, project: bool) -> StoredFact:
        """Copy a fact of one's own, with its origin and date, to where others may recall it.

        Raises Refusal.
        """
        target = _target(owner, project=project)

        def work(connection: Connection) -> StoredFact:
            fact = self._visible(connection, owner, seq)
            if fact.scope == target:
                return fact
            copies = select(facts.c.seq).where(facts.c.shared_from == fact.id)
            known = connection.execute(copies.where(facts.c.scope == target)).scalar()
            if known is not None:
                return _one(connection, [target], known) or fact
            new = _copy(fact, owner, target, project=project)
            return add_facts(connection, [new], self._clock())[0]

        return await self._added(work)

    async def share_words(
        self, owner: Owner, words: str, *, of: int, said_at: datetime, project: bool
    ) -> StoredFact:
        """Share a person's own words, which stand in message `of`. Raises Refusal."""
        if has_private(words):
            raise Refusal("That has a private part: I share nothing of it.")
        text = await self._slices.keepable(of, words)
        return await self._share_text(owner, text, of, said_at, project=project)

    async def share_message(self, owner: Owner, said: Stored, *, project: bool) -> StoredFact:
        """Share a whole message of one's own. Raises Refusal."""
        if said.by.id != owner.id or said.scope != owner.home:
            raise Refusal("Only your own messages here are yours to share.")
        if said.deleted or has_private(said.content):
            raise Refusal("That message is private or gone: I share nothing of it.")
        text = await self._slices.keepable(said.seq, said.content)
        return await self._share_text(owner, text, said.seq, said.sent_at, project=project)

    async def _share_text(
        self, owner: Owner, text: str | None, of: int, said_at: datetime, *, project: bool
    ) -> StoredFact:
        target = _target(owner, project=project)
        if not text:
            raise Refusal("That is kept out of memory: there is nothing that I could share.")
        new = NewFact(
            scope=target,
            kind="project" if project else "fact",
            text=named(" ".join(text.split()), owner.name),
            said_at=said_at,
            source=SOURCE,
            person=owner.id,
            person_name=owner.name,
            persona=owner.at.persona,
            origin=origin_of(owner.at.room),
            room_id=owner.at.room.id,
            speakers=(owner.id,),
            data={"message_seq": of},  # no range: it must be recalled elsewhere at once
        )

        def work(connection: Connection) -> StoredFact:
            before = facts_in(connection, [target], person=owner.id)
            same = (f for f in before if (f.text, f.data) == (new.text, new.data))
            return next(same, None) or add_facts(connection, [new], self._clock())[0]

        return await self._added(work)

    async def _added(self, work: Callable[[Connection], StoredFact]) -> StoredFact:
        fact = await self._store.write(work)
        if self._recall is not None:
            await self._recall.index_soon()
        return fact

    # ── Taking back ─────────────────────────────────────────────────────────────────────

    async def unshare(self, owner: Owner, seq: int) -> int:
        """Take back a shared fact, or all copies of the fact with this number.

        Returns how many went. Raises Refusal.
        """

        def work(connection: Connection) -> list[str]:
            fact = self._visible(connection, owner, seq)
            if fact.source == SOURCE:
                return [fact.id]
            copies = select(facts.c.id).where(facts.c.shared_from == fact.id)
            return list(connection.execute(copies).scalars())

        return await self._remove(await self._store.read(work))

    async def forget(self, owner: Owner, seq: int) -> int:
        """Delete a fact of one's own and what was shared from it; return how many went.

        Raises Refusal.
        """

        def work(connection: Connection) -> str:
            fact = self._visible(connection, owner, seq, or_said_alone=True)
            if fact.first_seq is not None:
                connection.execute(
                    delete(staging).where(
                        staging.c.scope == fact.scope,
                        staging.c.first_seq == fact.first_seq,
                        staging.c.last_seq == fact.last_seq,
                    )
                )
            return fact.id

        return await self._remove([await self._store.write(work)])

    async def forget_all(self, owner: Owner) -> int:
        """Delete all that is known of them here; in a direct message all that was made of it.

        What they said here until now will not be learned from again. Returns how many facts went.
        """

        def unlearn(connection: Connection) -> None:
            said = messages.c.scope == owner.home
            if not owner.alone:
                said &= messages.c.sender_id == owner.id
            connection.execute(update(messages).where(said).values(include_in_memory=False))

        def work(connection: Connection) -> list[str]:
            own = _about(connection, owner, owner.gate(), replaced=True)
            if owner.alone:
                _clear(connection, owner.home)
            key = (insights.c.scope == owner.home) & (insights.c.sender_id == owner.id)
            connection.execute(delete(insights).where(key))
            return [fact.id for fact in own]

        await self._store.write(unlearn)
        await self._settled(owner.home)
        return await self._remove(await self._store.write(work))

    async def _remove(self, ids: Sequence[str]) -> int:
        if self._recall is not None:
            return await self._recall.forget(ids)
        return len(await self._store.write(lambda connection: remove_facts(connection, ids)))

    def _visible(
        self, connection: Connection, owner: Owner, seq: int, *, or_said_alone: bool = False
    ) -> StoredFact:
        """Their fact of that number, if it may be seen here. Raises Refusal.

        or_said_alone: any fact of their own direct message will do, whomever it is about.
        """
        gate = owner.gate()
        mine = _one(connection, gate.scopes, seq, person=owner.id)
        if mine is None and or_said_alone and owner.alone:
            mine = _one(connection, [owner.home], seq)
        if mine is not None and gate.admit("facts", [mine]):
            return mine
        if _one(connection, gate.scopes, seq) is not None:
            raise Refusal(f"{seq} is not about you: only who it is about may do that.")
        raise Refusal(f"I know no fact {seq} of you here; `!memory` lists them.")


_IS_KEPT = select(rooms.c.include_in_memory)
_OF_A_SCOPE = (insights, episodes, staging, landmarks, tool_uses, observations)


def _clear(connection: Connection, scope: str) -> None:
    """Delete what every layer made of a scope, but its facts. Numbers are never given twice, so
    the rows that count them stay, without a word in them."""
    for table in _OF_A_SCOPE:
        connection.execute(delete(table).where(table.c.scope == scope))
    blank = {"title": None, "subtitle": None, "overview": None}
    connection.execute(
        update(agent_sessions).where(agent_sessions.c.scope == scope).values(**blank)
    )


def _about(
    connection: Connection, owner: Owner, gate: Gate, *, replaced: bool = False
) -> list[StoredFact]:
    """What is known of them; in a direct message that is all that was made of it."""
    found = _every(connection, sorted(gate.scopes), person=owner.id, replaced=replaced)
    if owner.alone:
        found += _every(connection, [owner.home], replaced=replaced)
    return sorted({fact.seq: fact for fact in found}.values(), key=lambda fact: fact.seq)


def _every(
    connection: Connection, scopes: Sequence[str], person: str | None = None, *, replaced: bool
) -> list[StoredFact]:
    """Facts without an end to their number."""
    found: list[StoredFact] = []
    while page := facts_in(
        connection,
        scopes,
        person=person,
        replaced=replaced,
        after=found[-1].seq if found else 0,
        limit=PAGE,
    ):
        found += page
    return found


def _one(
    connection: Connection, scopes: Sequence[str] | frozenset[str], seq: int, **only: str
) -> StoredFact | None:
    found = facts_in(connection, scopes, after=seq - 1, limit=1, person=only.get("person"))
    return found[0] if found and found[0].seq == seq else None


def _insights(connection: Connection, owner: Owner) -> list[Insight]:
    table = insights.c
    query = select(table.scope, table.kind, table.text).order_by(table.kind, table.seq)
    key = (table.scope == owner.home) & (table.sender_id == owner.id)
    return [Insight(*row) for row in connection.execute(query.where(key))]


def _target(owner: Owner, *, project: bool) -> str:
    """Where something shared goes. Raises Refusal."""
    if not project:
        return owner.profile
    slug = owner.at.room.project
    if not slug:
        raise Refusal("No project is bound to this room.")
    scope = f"project:{slug}"
    if scope not in owner.gate().scopes:
        raise Refusal("A project's memory can't be reached from here.")
    return scope


def _copy(fact: StoredFact, owner: Owner, target: str, *, project: bool) -> NewFact:
    kind = "fact" if fact.kind in PLAIN_KINDS else fact.kind
    return NewFact(
        scope=target,
        kind="project" if project else kind,
        text=named(fact.text, owner.name),
        said_at=fact.said_at,
        source=SOURCE,
        person=owner.id,
        person_name=owner.name,
        persona=fact.persona,
        origin=fact.origin,
        room_id=fact.room_id,
        speakers=(owner.id,),
        shared_from=fact.id,
    )


def named(text: str, name: str) -> str:
    """The text, which says of whom it speaks: `Andi: I like tea`."""
    if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
        return text
    return f"{name}: {text}"


def origin_of(room: Room) -> str:
    """For people: "DM", "group DM" or "#room"."""
    if room.kind == "room":
        return f"#{room.name.removeprefix('#')}"
    return "group DM" if room.kind == "gdm" else "DM"
