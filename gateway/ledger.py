"""The record of every turn: queued, running, answered, posted. What makes a restart harmless.

A turn is queued in the same commit that stores its message; an answer and the posts that will
carry it are on disk before the first of them is sent; a post's row says whether it arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Protocol

from sqlalchemy import Row, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from contract import Inbound, Room, Speaker
from memory.schema import decisions, posts, rooms, sessions, turns
from memory.store import Store
from memory.transcript import Transcript, micros, moment

PostKind = Literal["text", "file", "question"]
State = Literal["queued", "running", "answered", "posted", "dropped"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One question to one persona and what became of it.

    seq: order of all turns. states: each state with the time it began. record: sections,
    scores, trims and timings, as JSON values. fault: an AgentFault, when there is no answer.
    """

    id: str
    seq: int
    message_seq: int
    persona: str
    scope: str
    room: Room
    thread_id: str | None
    bot: str
    hop: int
    state: State
    states: tuple[tuple[str, int], ...] = ()
    header: str | None = None
    record: dict[str, Any] = field(default_factory=dict)
    answer: str | None = None
    answer_source: str | None = None
    ended_by: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A turn to be made. answer: set when it needs no agent (a command's reply)."""

    id: str
    persona: str
    bot: str
    thread_id: str | None
    hop: int = 0
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """One piece of an answer on its way to the platform.

    state: "draft" shown while the agent works, "planned" final text to be sent, "sent".
    platform_id: the platform's id once known. drafted: it was shown as a draft, so a message
    that is there already needs an edit. uncertain: it may have been sent by a process that
    died before it knew. created_at: microseconds.
    """

    key: str
    turn_id: str
    number: int
    kind: PostKind
    text: str
    state: Literal["draft", "planned", "sent"]
    platform_id: str | None
    created_at: int
    drafted: bool = False
    uncertain: bool = False

    def as_sent(self, platform_id: str) -> Post:
        """The post, arrived."""
        return replace(self, state="sent", platform_id=platform_id)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What `accept` did: the message's seq, whether it was new, and the turns it made."""

    seq: int
    new: bool
    turns: tuple[Turn, ...]


class Ledger(Protocol):
    """What the middle asks of the record; a worker on another machine could be its client."""

    async def accept(
        self, inbound: Inbound, scope: str, wanted: Sequence[Wanted], hop: int, now: datetime
    ) -> Accepted:
        """Store a message and queue its turns, once, in one commit."""

    async def running(self, turn: Turn, header: str, record: dict[str, Any], now: datetime) -> Turn:
        """The agent is about to be asked."""

    async def answered(
        self, outcome: Turn, plan: Sequence[tuple[str, str]], now: datetime
    ) -> tuple[Turn, list[Post]]:
        """Record the answer, and as (kind, text) the posts that will carry it."""

    async def draft(self, turn: Turn, text: str, now: datetime) -> Post:
        """A draft is about to be posted."""

    async def sent(self, post: Post, platform_id: str) -> Post:
        """The platform has the post."""

    async def note_question(self, turn: Turn, question_id: str, platform_id: str) -> None:
        """A permission question was posted: an own message that carries no answer."""

    async def known_posts(self, room_id: str, since: int) -> frozenset[str]:
        """The platform's ids of all posts of a room made since (microseconds)."""

    async def posted(
        self,
        turn: Turn,
        posts: Sequence[Post],
        by: Speaker,
        wanted: Sequence[Wanted],
        now: datetime,
    ) -> tuple[Turn, int | None, tuple[Turn, ...]]:
        """All posts arrived: store the answer as a message, queue the turns it hands over to.

        Returns the turn, the answer's seq (None when stored before), and the new turns.
        """

    async def dropped(self, turn: Turn, now: datetime) -> Turn:
        """Its message was deleted while it waited."""

    async def open_turns(self) -> list[Turn]:
        """Turns that are not posted or dropped, in their order."""

    async def posts(self, turn_id: str) -> list[Post]:
        """The posts of a turn in their order."""

    async def turn(self, turn_id: str) -> Turn | None:
        """One turn."""

    async def agent_session(self, persona: str, scope: str, agent: str) -> str | None:
        """The agent's own session id to resume, or None."""

    async def keep_session(
        self, persona: str, scope: str, agent: str, session_id: str | None, now: datetime
    ) -> None:
        """Remember the agent's session id; None forgets it."""

    async def decide(
        self, turn_id: str, question: str, chosen: str, by: str, now: datetime
    ) -> None:
        """Record who answered a permission question, and how."""


class SqlLedger:
    """The ledger in the store's database."""

    def __init__(self, store: Store, transcript: Transcript) -> None:
        self._store = store
        self._transcript = transcript
        self._insert = postgresql.insert if store.dialect == "postgresql" else sqlite.insert

    async def accept(
        self, inbound: Inbound, scope: str, wanted: Sequence[Wanted], hop: int, now: datetime
    ) -> Accepted:
        async def work(connection: AsyncConnection) -> Accepted:
            seq, new = await self._transcript.add(connection, inbound, scope, hop, now)
            made = [
                await self._queue(connection, seq, scope, inbound.room, want, now)
                for want in wanted
            ]
            return Accepted(seq, new, tuple(turn for turn in made if turn is not None))

        accepted = await self._store.write(work)
        self._transcript.committed(inbound.room)
        return accepted

    async def _queue(
        self,
        connection: AsyncConnection,
        message_seq: int,
        scope: str,
        room: Room,
        want: Wanted,
        now: datetime,
    ) -> Turn | None:
        state: State = "queued" if want.answer is None else "answered"
        states = [["queued", micros(now)]]
        if want.answer is not None:
            states.append(["answered", micros(now)])
        statement = (
            self._insert(turns)
            .values(
                id=want.id,
                message_seq=message_seq,
                persona=want.persona,
                scope=scope,
                room_id=room.id,
                thread_id=want.thread_id,
                bot=want.bot,
                hop=want.hop,
                state=state,
                states=states,
                answer=want.answer,
            )
            .on_conflict_do_nothing(index_elements=["message_seq", "persona"])
            .returning(turns.c.seq)
        )
        seq = (await connection.execute(statement)).scalar()
        if seq is None:
            return None
        if want.answer is not None:
            await self._plan(connection, want.id, [("text", want.answer)], now)
        return Turn(
            id=want.id,
            seq=seq,
            message_seq=message_seq,
            persona=want.persona,
            scope=scope,
            room=room,
            thread_id=want.thread_id,
            bot=want.bot,
            hop=want.hop,
            state=state,
            states=tuple((name, at) for name, at in states),  # type: ignore[misc]
            answer=want.answer,
        )

    async def _save(self, connection: AsyncConnection, turn: Turn) -> None:
        await connection.execute(
            update(turns)
            .where(turns.c.id == turn.id)
            .values(
                state=turn.state,
                states=[list(item) for item in turn.states],
                header=turn.header,
                record=turn.record,
                answer=turn.answer,
                answer_source=turn.answer_source,
                ended_by=turn.ended_by,
                fault=turn.fault,
            )
        )

    async def running(self, turn: Turn, header: str, record: dict[str, Any], now: datetime) -> Turn:
        changed = _entered(replace(turn, header=header, record=record), "running", now)
        await self._store.write(lambda connection: self._save(connection, changed))
        return changed

    async def answered(
        self, outcome: Turn, plan: Sequence[tuple[str, str]], now: datetime
    ) -> tuple[Turn, list[Post]]:
        changed = _entered(outcome, "answered", now)

        async def work(connection: AsyncConnection) -> list[Post]:
            await self._save(connection, changed)
            await self._plan(connection, outcome.id, plan, now)
            return await _posts(connection, outcome.id)

        return changed, await self._store.write(work)

    async def _plan(
        self,
        connection: AsyncConnection,
        turn_id: str,
        plan: Sequence[tuple[str, str]],
        now: datetime,
    ) -> None:
        """Write the final posts; a draft that is there becomes the first of them."""
        for number, (kind, text) in enumerate(plan):
            values = {"kind": kind, "text": text, "state": "planned"}
            await connection.execute(
                self._insert(posts)
                .values(
                    key=f"{turn_id}:{number}",
                    turn_id=turn_id,
                    number=number,
                    created_at=micros(now),
                    **values,
                )
                .on_conflict_do_update(index_elements=["key"], set_=values)
            )

    async def draft(self, turn: Turn, text: str, now: datetime) -> Post:
        post = Post(f"{turn.id}:0", turn.id, 0, "text", text, "draft", None, micros(now), True)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                self._insert(posts)
                .values(
                    key=post.key,
                    turn_id=turn.id,
                    number=0,
                    kind="text",
                    text=text,
                    state="draft",
                    drafted=True,
                    created_at=micros(now),
                )
                .on_conflict_do_nothing(index_elements=["key"])
            )

        await self._store.write(work)
        return post

    async def sent(self, post: Post, platform_id: str) -> Post:
        changed = replace(post, platform_id=platform_id)
        if post.state != "draft":
            changed = post.as_sent(platform_id)
        await self._store.write(lambda connection: _mark(connection, changed))
        return changed

    async def note_question(self, turn: Turn, question_id: str, platform_id: str) -> None:
        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                self._insert(posts).values(
                    key=f"{turn.id}:{question_id}",
                    turn_id=turn.id,
                    number=-1,
                    kind="question",
                    text="",
                    state="sent",
                    platform_id=platform_id,
                    created_at=turn.states[-1][1],
                )
            )

        await self._store.write(work)

    async def known_posts(self, room_id: str, since: int) -> frozenset[str]:
        query = (
            select(posts.c.platform_id)
            .join(turns, turns.c.id == posts.c.turn_id)
            .where(turns.c.room_id == room_id, posts.c.platform_id.is_not(None))
            .where(posts.c.created_at >= since - _HOUR)
        )
        async with self._store.read() as connection:
            return frozenset((await connection.execute(query)).scalars())

    async def posted(
        self,
        turn: Turn,
        posts: Sequence[Post],
        by: Speaker,
        wanted: Sequence[Wanted],
        now: datetime,
    ) -> tuple[Turn, int | None, tuple[Turn, ...]]:
        changed = _entered(turn, "posted", now)

        async def work(connection: AsyncConnection) -> tuple[int | None, tuple[Turn, ...]]:
            for post in posts:
                await _mark(connection, post)
            await self._save(connection, changed)
            if not turn.answer or not posts:
                return None, ()
            seq = await self._transcript.add_answer(
                connection,
                room_id=turn.room.id,
                message_id=posts[0].platform_id or posts[0].key,
                scope=turn.scope,
                thread_id=turn.thread_id,
                by=by,
                persona=turn.persona,
                turn_id=turn.id,
                hop=turn.hop + 1,
                text=turn.answer or "",
                now=now,
            )
            if seq is None:
                return None, ()
            made = [
                await self._queue(connection, seq, turn.scope, turn.room, want, now)
                for want in wanted
            ]
            return seq, tuple(item for item in made if item is not None)

        seq, made = await self._store.write(work)
        return changed, seq, made

    async def dropped(self, turn: Turn, now: datetime) -> Turn:
        changed = _entered(turn, "dropped", now)
        await self._store.write(lambda connection: self._save(connection, changed))
        return changed

    async def open_turns(self) -> list[Turn]:
        query = (
            _turns_with_rooms()
            .where(turns.c.state.in_(["queued", "running", "answered"]))
            .order_by(turns.c.seq)
        )
        async with self._store.read() as connection:
            return [_turn(row) for row in await connection.execute(query)]

    async def turn(self, turn_id: str) -> Turn | None:
        async with self._store.read() as connection:
            query = _turns_with_rooms().where(turns.c.id == turn_id)
            row = (await connection.execute(query)).first()
            return None if row is None else _turn(row)

    async def last_turn(self, scope: str) -> Turn | None:
        """The newest finished turn of a scope that an agent answered."""
        query = (
            _turns_with_rooms()
            .where(turns.c.scope == scope, turns.c.header.is_not(None))
            .where(turns.c.state == "posted")
            .order_by(turns.c.seq.desc())
            .limit(1)
        )
        async with self._store.read() as connection:
            row = (await connection.execute(query)).first()
            return None if row is None else _turn(row)

    async def turns_of(self, message_seqs: Sequence[int]) -> list[Turn]:
        """The turns that these messages asked for."""
        query = _turns_with_rooms().where(turns.c.message_seq.in_(message_seqs))
        async with self._store.read() as connection:
            return [_turn(row) for row in await connection.execute(query)]

    async def posts(self, turn_id: str) -> list[Post]:
        async with self._store.read() as connection:
            return await _posts(connection, turn_id)

    async def agent_session(self, persona: str, scope: str, agent: str) -> str | None:
        query = select(sessions.c.agent_session_id).where(
            sessions.c.persona == persona, sessions.c.scope == scope, sessions.c.agent == agent
        )
        async with self._store.read() as connection:
            found: str | None = (await connection.execute(query)).scalar()
            return found

    async def keep_session(
        self, persona: str, scope: str, agent: str, session_id: str | None, now: datetime
    ) -> None:
        values = {"agent": agent, "agent_session_id": session_id, "used_at": micros(now)}

        async def work(connection: AsyncConnection) -> None:
            if session_id is None:
                await connection.execute(
                    delete(sessions).where(sessions.c.persona == persona, sessions.c.scope == scope)
                )
                return
            await connection.execute(
                self._insert(sessions)
                .values(persona=persona, scope=scope, **values)
                .on_conflict_do_update(index_elements=["persona", "scope"], set_=values)
            )

        await self._store.write(work)

    async def decide(
        self, turn_id: str, question: str, chosen: str, by: str, now: datetime
    ) -> None:
        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                self._insert(decisions).values(
                    turn_id=turn_id, question=question, chosen=chosen, by=by, at=micros(now)
                )
            )

        await self._store.write(work)

    async def decisions(self, turn_id: str) -> list[dict[str, Any]]:
        """Who answered the permission questions of a turn, in order."""
        query = select(decisions).where(decisions.c.turn_id == turn_id).order_by(decisions.c.seq)
        async with self._store.read() as connection:
            return [
                {
                    "question": row.question,
                    "chosen": row.chosen,
                    "by": row.by,
                    "at": moment(row.at).isoformat(),
                }
                for row in await connection.execute(query)
            ]


_HOUR = 3_600_000_000  # microseconds; a turn's questions are older than its posts


def _entered(turn: Turn, state: State, now: datetime) -> Turn:
    return replace(turn, state=state, states=(*turn.states, (state, micros(now))))


def _turns_with_rooms() -> Any:
    return select(
        turns, rooms.c.name.label("room_name"), rooms.c.kind.label("room_kind"), rooms.c.project
    ).join(rooms, rooms.c.id == turns.c.room_id)


def _turn(row: Row[Any]) -> Turn:
    return Turn(
        id=row.id,
        seq=row.seq,
        message_seq=row.message_seq,
        persona=row.persona,
        scope=row.scope,
        room=Room(row.room_id, row.room_name, row.room_kind, row.project),
        thread_id=row.thread_id,
        bot=row.bot,
        hop=row.hop,
        state=row.state,
        states=tuple((name, at) for name, at in row.states),
        header=row.header,
        record=row.record or {},
        answer=row.answer,
        answer_source=row.answer_source,
        ended_by=row.ended_by,
        fault=row.fault,
    )


async def _posts(connection: AsyncConnection, turn_id: str) -> list[Post]:
    query = (
        select(posts)
        .where(posts.c.turn_id == turn_id, posts.c.kind != "question")
        .order_by(posts.c.number)
    )
    return [
        Post(
            key=row.key,
            turn_id=row.turn_id,
            number=row.number,
            kind=row.kind,
            text=row.text,
            state=row.state,
            platform_id=row.platform_id,
            created_at=row.created_at,
            drafted=row.drafted,
            uncertain=row.drafted and row.platform_id is None,
        )
        for row in await connection.execute(query)
    ]


async def _mark(connection: AsyncConnection, post: Post) -> None:
    await connection.execute(
        update(posts)
        .where(posts.c.key == post.key)
        .values(platform_id=post.platform_id, state=post.state)
    )
