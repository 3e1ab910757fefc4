"""The ledger in the store's database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from contract.chat import Inbound, Room, Speaker
from gateway.core.ledger import Accepted, Also, Further, Post, Turn, TurnRequest
from gateway.core.sql_rows import (
    ANSWER_WITH,
    ASKED,
    CLOSE_QUESTION,
    DECIDE,
    DECISIONS,
    KNOWN_POSTS,
    LAST_TURN,
    LEFT_QUESTIONS,
    OPEN_TURNS,
    TURN,
    TURNS_OF,
    entered,
    figure_writer,
    mark,
    posts_of,
    save,
    turn_of,
)
from gateway.core.sql_sessions import SqlSessions
from store.database import Store, insert_of
from store.schema import ONCE_A_MESSAGE, posts, turns
from store.timestamps import micros, moment
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class _Asked:
    """The message that turns are queued for. at: microseconds, by the platform's clock."""

    seq: int
    at: int
    scope: str
    room: Room


LINKS = 50  # of a chain of agents that is followed to its beginning


class SqlLedger(SqlSessions):
    """See `gateway.core.ledger.Ledger`."""

    def __init__(self, store: Store, transcript: Transcript) -> None:
        super().__init__(store)
        self._transcript = transcript
        insert = insert_of(store)
        self._queue_turn = (
            insert(turns)
            .on_conflict_do_nothing(
                index_elements=["message_seq", "persona"], index_where=ONCE_A_MESSAGE
            )
            .returning(turns.c.seq)
        )
        self._keep_figure = figure_writer(store)
        new_post = insert(posts)
        self._put_post = new_post.on_conflict_do_update(
            index_elements=["key"],
            set_={name: new_post.excluded[name] for name in ("kind", "text", "state")},
        )

    # ── Turns ───────────────────────────────────────────────────────────────────────────

    async def accept(
        self,
        inbound: Inbound,
        scope: str,
        wanted: Sequence[TurnRequest],
        hop: int,
        now: datetime,
        also: Also | None = None,
    ) -> Accepted:
        def work(connection: Connection) -> Accepted:
            seq, new = self._transcript.add(connection, inbound, scope, hop, now)
            if not new and not self._transcript.is_of(connection, seq, scope):
                return Accepted(seq, new, ())  # its text is not for whoever delivers it now
            asked = _Asked(seq, micros(inbound.sent_at), scope, inbound.room)
            more = also(connection, seq) if also is not None else Further()
            made = self._queue_all(connection, asked, [*wanted, *more.requests], now)
            return Accepted(seq, new, made, more.said)

        accepted = await self._store.write(work)
        self._transcript.committed(inbound.room)
        return accepted

    def queue(
        self, connection: Connection, message_seq: int, wanted: Sequence[TurnRequest], now: datetime
    ) -> tuple[Turn, ...]:
        """Turns for a message that lies in the store, in a commit of the caller's."""
        row = connection.execute(ASKED, {"of": message_seq}).one()
        room = Room(row.room_id, row.name, row.kind, row.project)
        asked = _Asked(row.seq, row.sent_at, row.scope, room)
        return self._queue_all(connection, asked, wanted, now)

    def _queue_all(
        self, connection: Connection, asked: _Asked, wanted: Sequence[TurnRequest], now: datetime
    ) -> tuple[Turn, ...]:
        made = (self._queue(connection, asked, want, now) for want in wanted)
        return tuple(turn for turn in made if turn is not None)

    def _queue(
        self, connection: Connection, asked: _Asked, want: TurnRequest, now: datetime
    ) -> Turn | None:
        """The new turn; None when this message asked this persona before."""
        turn = _new_turn(asked, want, now)
        values = {
            "id": turn.id,
            "message_seq": asked.seq,
            "persona": turn.persona,
            "scope": turn.scope,
            "room_id": turn.room.id,
            "thread_id": turn.thread_id,
            "bot": turn.bot,
            "hop": turn.hop,
            "kind": turn.kind,
            "state": turn.state,
            "states": [list(item) for item in turn.states],
            "answer": turn.answer,
        }
        seq = connection.execute(self._queue_turn, values).scalar()
        if seq is None:
            return None
        if want.answer is not None:
            self._plan(connection, turn.id, [("text", want.answer)], now)
        return replace(turn, seq=seq)

    def running(self, turn: Turn, header: str, record: dict[str, Any], now: datetime) -> Turn:
        changed = entered(replace(turn, header=header, record=record), "running", now)
        self._store.write_later(lambda connection: save(connection, changed))
        return changed

    async def answered(
        self, outcome: Turn, plan: Sequence[tuple[str, str]], now: datetime
    ) -> tuple[Turn, list[Post]]:
        changed = entered(outcome, "answered", now)

        def work(connection: Connection) -> list[Post]:
            save(connection, changed)
            self._plan(connection, outcome.id, plan, now)
            return posts_of(connection, outcome.id)

        return changed, await self._store.write(work)

    async def posted(
        self,
        turn: Turn,
        posts: Sequence[Post],
        by: Speaker,
        wanted: Sequence[TurnRequest],
        now: datetime,
    ) -> tuple[Turn, int | None, tuple[Turn, ...]]:
        changed = entered(turn, "posted", now)

        def work(connection: Connection) -> tuple[int | None, tuple[Turn, ...]]:
            for post in posts:
                mark(connection, post)
            self._end(connection, changed)
            if not turn.answer or not posts:
                return None, ()
            seq = self._transcript.add_answer(
                connection,
                room_id=turn.room.id,
                message_id=posts[0].platform_id or posts[0].key,
                scope=turn.scope,
                thread_id=turn.thread_id,
                by=by,
                persona=turn.speaker_name,
                turn_id=turn.id,
                hop=turn.hop + 1,
                text=turn.answer,
                now=now,
            )
            asked = _Asked(seq, micros(now), turn.scope, turn.room)
            return seq, self._queue_all(connection, asked, wanted, now)

        seq, made = await self._store.write(work)
        return changed, seq, made

    async def dropped(self, turn: Turn, now: datetime) -> Turn:
        changed = entered(turn, "dropped", now)
        await self._store.write(lambda connection: self._end(connection, changed))
        return changed

    def _end(self, connection: Connection, turn: Turn) -> None:
        save(connection, turn)
        self._keep_figure(connection, turn)

    async def open_turns(self) -> list[Turn]:
        return await self._store.read(
            lambda connection: [turn_of(row) for row in connection.execute(OPEN_TURNS)]
        )

    async def turn(self, turn_id: str) -> Turn | None:
        return await self._first(TURN, {"of": turn_id})

    async def last_turn(self, scope: str) -> Turn | None:
        return await self._first(LAST_TURN, {"scope": scope})

    async def _first(self, query: Any, where: dict[str, Any]) -> Turn | None:
        def work(connection: Connection) -> Turn | None:
            row = connection.execute(query, where).first()
            return None if row is None else turn_of(row)

        return await self._store.read(work)

    async def beginner(self, turn: Turn) -> Speaker | None:
        asked = await self._transcript.get(turn.message_seq)
        for _ in range(LINKS):
            if asked is None or asked.turn_id is None:
                break
            before = await self.turn(asked.turn_id)
            asked = await self._transcript.get(before.message_seq) if before else None
        return asked.by if asked else None

    async def turns_of(self, message_seq: int) -> list[Turn]:
        """The turns that a message asked for."""
        where = {"seq": message_seq}
        return await self._store.read(
            lambda connection: [turn_of(row) for row in connection.execute(TURNS_OF, where)]
        )

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def _plan(
        self,
        connection: Connection,
        turn_id: str,
        plan: Sequence[tuple[str, str]],
        now: datetime,
    ) -> None:
        """Write the final posts; a draft that is there becomes the first of them."""
        rows = [
            {
                "key": f"{turn_id}:{number}",
                "turn_id": turn_id,
                "number": number,
                "kind": kind,
                "text": text,
                "state": "planned",
                "drafted": False,
                "created_at": micros(now),
            }
            for number, (kind, text) in enumerate(plan)
        ]
        if rows:
            connection.execute(self._put_post, rows)

    async def draft(self, turn: Turn, text: str, now: datetime) -> Post:
        post = Post(f"{turn.id}:0", turn.id, 0, "text", text, "draft", None, micros(now), True)
        await self._add_post(post)
        return post

    async def note_question(
        self, turn: Turn, question_id: str, platform_id: str, title: str = ""
    ) -> None:
        at = turn.states[-1][1]
        key = f"{turn.id}:{question_id}"
        await self._add_post(Post(key, turn.id, -1, "question", title, "sent", platform_id, at))

    def close_question(self, key: str) -> None:
        self._store.write_later(lambda connection: connection.execute(CLOSE_QUESTION, {"of": key}))

    async def left_questions(self, turn_id: str) -> list[tuple[str, str, str]]:
        def work(connection: Connection) -> list[tuple[str, str, str]]:
            rows = connection.execute(LEFT_QUESTIONS, {"turn": turn_id})
            return [(row.key, row.platform_id, row.text) for row in rows]

        return await self._store.read(work)

    async def _add_post(self, post: Post) -> None:
        values = {
            "key": post.key,
            "turn_id": post.turn_id,
            "number": post.number,
            "kind": post.kind,
            "text": post.text,
            "state": post.state,
            "platform_id": post.platform_id,
            "drafted": post.drafted,
            "created_at": post.created_at,
        }
        await self._store.write(lambda connection: connection.execute(self._put_post, values))

    async def sent(self, post: Post, platform_id: str) -> Post:
        changed = replace(post, platform_id=platform_id)
        if post.state != "draft":
            changed = post.as_sent(platform_id)
        await self._store.write(lambda connection: mark(connection, changed))
        return changed

    async def posts(self, turn_id: str) -> list[Post]:
        return await self._store.read(lambda connection: posts_of(connection, turn_id))

    async def known_posts(self, room_id: str) -> frozenset[str]:
        where = {"room": room_id}
        return await self._store.read(
            lambda connection: frozenset(connection.execute(KNOWN_POSTS, where).scalars())
        )

    async def answer_with(self, room_id: str, post_id: str) -> str | None:
        where = {"room": room_id, "post": post_id}
        return await self._store.read(lambda c: c.execute(ANSWER_WITH, where).scalar())

    # ── Decisions ───────────────────────────────────────────────────────────────────────────

    async def decide(
        self, turn_id: str, question: str, chosen: str, by: str, now: datetime
    ) -> None:
        values = {
            "turn_id": turn_id,
            "question": question,
            "chosen": chosen,
            "by": by,
            "at": micros(now),
        }
        await self._store.write(lambda connection: connection.execute(DECIDE, values))

    async def decisions(self, turn_id: str) -> list[dict[str, Any]]:
        """The people who answered the permission questions of a turn, in order."""

        def work(connection: Connection) -> list[dict[str, Any]]:
            return [
                {
                    "question": row.question,
                    "chosen": row.chosen,
                    "by": row.by,
                    "at": moment(row.at).isoformat(),
                }
                for row in connection.execute(DECISIONS, {"turn": turn_id})
            ]

        return await self._store.read(work)


def _new_turn(asked: _Asked, want: TurnRequest, now: datetime) -> Turn:
    turn = Turn(
        id=want.id,
        seq=0,
        message_seq=asked.seq,
        asked_at=asked.at,
        persona=want.persona,
        scope=asked.scope,
        room=asked.room,
        thread_id=want.thread_id,
        bot=want.bot,
        hop=want.hop,
        state="queued",
        kind=want.kind,
        answer=want.answer,
    )
    turn = entered(turn, "queued", now)
    return turn if want.answer is None else entered(turn, "answered", now)
