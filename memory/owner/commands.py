"""Commands for one's own memory: `!memory`, `!share`, `!unshare`, `!forget`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from contract.language import say
from contract.private import has_private
from memory.owner.forgetting import Forgotten, find_fact, forget_words, unlearn
from memory.owner.owner import Known, MemoryRefusal, Owner, about, clear, notes_on, one, visible
from memory.readable import ReadableMessages
from memory.recall.facts import (
    SHARED,
    NewFact,
    StoredFact,
    add_facts,
    facts_in,
    origin_of,
    remove_facts,
)
from memory.recall.recall import Recall
from store.database import Store
from store.rows import StoredMessage
from store.schema import facts, insights, messages, rooms

_IS_KEPT = select(rooms.c.include_in_memory)


class MemoryCommands:
    """Carries it out. recall: None where nothing is recalled."""

    def __init__(
        self,
        store: Store,
        slices: ReadableMessages,
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
        """Look up all that is known of them here."""

        def work(connection: Connection) -> Known:
            gate = owner.gate()
            own = about(connection, owner, gate)
            notes = notes_on(connection, owner)
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

        def work(connection: Connection) -> StoredFact:
            fact = visible(connection, owner, seq)
            new = copied(fact, owner, project=project)
            if fact.scope == new.scope:
                return fact
            copies = select(facts.c.seq).where(facts.c.shared_from == fact.id)
            known = connection.execute(copies.where(facts.c.scope == new.scope)).scalar()
            if known is not None:
                return one(connection, [new.scope], known) or fact
            return add_facts(connection, [new], self._clock())[0]

        return await self._added(work)

    async def share_words(
        self, owner: Owner, words: str, *, of: int, said_at: datetime, project: bool
    ) -> StoredFact:
        """Share a person's own words, which stand in message `of`. Raises Refusal."""
        if has_private(words):
            raise MemoryRefusal(say("That has a private part: I share nothing of it."))
        text = await self._slices.keepable(of, words)
        return await self._share_text(owner, text, of, said_at, project=project)

    async def share_message(
        self, owner: Owner, said: StoredMessage, *, project: bool
    ) -> StoredFact:
        """Share a whole message of one's own. Raises Refusal."""
        if said.by.id != owner.id or said.scope != owner.home:
            raise MemoryRefusal(say("Only your own messages here are yours to share."))
        if said.deleted or has_private(said.content):
            raise MemoryRefusal(say("That message is private or gone: I share nothing of it."))
        text = await self._slices.keepable(said.seq, said.content)
        return await self._share_text(owner, text, said.seq, said.sent_at, project=project)

    async def _share_text(
        self, owner: Owner, text: str | None, of: int, said_at: datetime, *, project: bool
    ) -> StoredFact:
        if not text:
            raise MemoryRefusal(
                say("That is kept out of memory: there is nothing that I could share.")
            )
        new = worded(text, owner, of, said_at, project=project)

        def work(connection: Connection) -> StoredFact:
            before = facts_in(connection, [new.scope], person=owner.id)
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
            fact = visible(connection, owner, seq)
            if fact.source == SHARED:
                return [fact.id]
            copies = select(facts.c.id).where(facts.c.shared_from == fact.id)
            return list(connection.execute(copies).scalars())

        return await self._remove(await self._store.read(work))

    async def forget(self, owner: Owner, seq: int) -> Forgotten:
        """Delete a fact of one's own, its copies, and its words in all that was learned; see
        forgetting. The fact goes last: until then it can be forgotten again.

        Raises Refusal.
        """
        going = await self._store.read(lambda c: find_fact(c, owner, seq))
        await self._store.write(lambda c: unlearn(c, going))
        for scope in going.said:
            await self._settled(scope)
        done = await self._store.write(lambda c: forget_words(c, going))
        gone = await self._remove([fact.id for fact in going.facts])
        return replace(done, copies=gone - len(going.facts))

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
            own = about(connection, owner, owner.gate(), replaced=True)
            if owner.alone:
                clear(connection, owner.home)
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


PLAIN_KINDS = ("message", "project")  # where a fact was learned or lies: no kind of its own


def target(owner: Owner, *, project: bool) -> str:
    """The scope that something shared goes to. Raises Refusal."""
    if not project:
        return owner.profile
    slug = owner.at.room.project
    if not slug:
        raise MemoryRefusal(say("No project is bound to this room."))
    scope = f"project:{slug}"
    if scope not in owner.gate().scopes:
        raise MemoryRefusal(say("A project's memory can't be reached from here."))
    return scope


def copied(fact: StoredFact, owner: Owner, *, project: bool) -> NewFact:
    """A fact as it is shared, with its origin and date. Raises Refusal."""
    kind = "fact" if fact.kind in PLAIN_KINDS else fact.kind
    return NewFact(
        scope=target(owner, project=project),
        kind="project" if project else kind,
        text=named(fact.text, owner.name),
        said_at=fact.said_at,
        source=SHARED,
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


def worded(words: str, owner: Owner, of: int, said_at: datetime, *, project: bool) -> NewFact:
    """A person's own words, said in message `of`, as a fact. Raises Refusal.

    It bears no range of messages: it has to be recalled elsewhere, whatever is shown there.
    """
    return NewFact(
        scope=target(owner, project=project),
        kind="project" if project else "fact",
        text=named(" ".join(words.split()), owner.name),
        said_at=said_at,
        source=SHARED,
        person=owner.id,
        person_name=owner.name,
        persona=owner.at.persona,
        origin=origin_of(owner.at.room.kind, owner.at.room.name),
        room_id=owner.at.room.id,
        speakers=(owner.id,),
        data={"message_seq": of},
    )
