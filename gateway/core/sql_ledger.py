"""The ledger of turns in the store's database; see gateway/core/ledger.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from contract.chat import SLASH, Inbound, Room, Speaker
from contract.values import dataclass
from gateway.core.ledger import (
    Accepted,
    Also,
    Further,
    Post,
    PostKind,
    State,
    Turn,
    TurnRequest,
)
from gateway.core.sql_posts import SqlPosts
from gateway.core.sql_rows import (
    ANSWER_WITH,
    ASKED,
    FORGET_UNSENT,
    LAST_QUESTION,
    LAST_TURN,
    MARK,
    OPEN,
    OPEN_TURNS,
    TURN,
    TURNS_OF,
    beside,
    entered,
    marked,
    posts_of,
    put_figure,
    save,
    saved,
    turn_of,
)
from gateway.core.sql_sessions import SqlSessions
from store.database import Store, insert_of
from store.rows import StoredMessage
from store.schema import ONCE_A_MESSAGE, turns
from store.timestamps import micros
from store.together import Written, execute_together, run
from store.transcript import Transcript
from store.turn_metrics import figure


@dataclass(frozen=True, slots=True)
class _Asked:
    """The message that turns are queued for. at: microseconds, by the platform's clock. only_for:
    its id where lines of Moot's own are for its sender alone."""

    seq: int
    at: int
    scope: str
    room: Room
    only_for: str | None = None


_NEW = (  # of a turn that is queued
    "id",
    "message_seq",
    "persona",
    "scope",
    "thread_id",
    "bot",
    "hop",
    "kind",
    "state",
    "answer",
    "again",
    "session_thread",
    "record",
)
SessionThread = Callable[[Room, str | None], str]
"""The thread whose session takes what is said in a thread of a room; "": the room's own session."""


def no_threads(room: Room, thread_id: str | None) -> str:
    """The sessions of rooms where no thread has its own."""
    return ""


LINKS = 50  # of a chain of agents that is followed to its beginning


class SqlLedger(SqlSessions, SqlPosts):
    """The record of turns and posts, as the rest of the gateway asks it."""

    def __init__(
        self, store: Store, transcript: Transcript, session_thread: SessionThread = no_threads
    ) -> None:
        SqlSessions.__init__(self, store)
        SqlPosts.__init__(self, store)
        self._transcript = transcript
        self._session_thread = session_thread
        insert = insert_of(store)
        self._queue_turn = (
            insert(turns)
            .on_conflict_do_nothing(
                index_elements=["message_seq", "persona", "again"], index_where=ONCE_A_MESSAGE
            )
            .returning(turns.c.seq)
        )
        self._put_figure = put_figure(store)
        self._begun: dict[str, Turn] = {}  # whose agents were asked, until that is on disk

    # ── Turns ───────────────────────────────────────────────────────────────────────────

    async def accept(
        self,
        inbound: Inbound,
        scope: str,
        wanted: Sequence[TurnRequest],
        hop: int,
        now: datetime,
        also: Also | None = None,
        seen: Callable[[Accepted], object] | None = None,
    ) -> Accepted:
        """Store a message and queue its turns, once, in one commit with `also`. seen: see write."""

        def work(connection: Connection) -> Accepted:
            seq, new = self._transcript.add(connection, inbound, scope, hop, now)
            if not new and not self._transcript.is_of(connection, seq, scope):
                return Accepted(seq, new, ())  # its text is not for whoever delivers it now
            only_for = inbound.message_id if inbound.message_id.startswith(SLASH) else None
            asked = _Asked(seq, micros(inbound.sent_at), scope, inbound.room, only_for)
            more = also(connection, seq) if also is not None else Further()
            told = replace(asked, only_for=only_for or more.only_for)
            made = self._queue(connection, asked, wanted, now)
            made += self._queue(connection, told, more.requests, now)
            return Accepted(seq, new, made, more.said)

        accepted = await self._store.write(work, small=True, seen=seen)
        self._transcript.known_rooms[inbound.room.id] = inbound.room
        return accepted

    def queue(
        self, connection: Connection, message_seq: int, wanted: Sequence[TurnRequest], now: datetime
    ) -> tuple[Turn, ...]:
        """Turns for a message that lies in the store, in a commit of the caller's."""
        row = connection.execute(ASKED, {"of": message_seq}).one()
        room = Room(row.room_id, row.name, row.kind, row.project)
        asked = _Asked(row.seq, row.sent_at, row.scope, room)
        return self._queue(connection, asked, wanted, now)

    def _queue(
        self, connection: Connection, asked: _Asked, wanted: Sequence[TurnRequest], now: datetime
    ) -> tuple[Turn, ...]:
        """The new turns; none where this message asked this persona before."""
        made: list[Turn] = []
        at = micros(now)
        for want in wanted:
            states: tuple[tuple[State, int], ...] = (("queued", at),)
            if want.answer is not None:
                states += (("answered", at),)
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
                state=states[-1][0],
                kind=want.kind,
                states=states,
                answer=want.answer,
                again=want.again,
                session_thread=self._session_thread(asked.room, want.thread_id),
                record=want.record(asked.only_for),
            )
            values = {name: getattr(turn, name) for name in _NEW}
            values |= {"room_id": asked.room.id, "states": [list(item) for item in states]}
            if not (queued := run(connection, self._queue_turn, values)):
                continue
            if want.answer is not None:
                self._plan(connection, turn.id, [("text", want.answer)], now)
            made.append(replace(turn, seq=queued[0].seq))
        return tuple(made)

    async def running(
        self, turn: Turn, header: str, record: dict[str, Any], now: datetime, *, later: bool
    ) -> Turn:
        """The agent is about to be asked, which is written when this returns: who asks again after
        a crash says so. later: only soon, but before anything else of the turn."""
        changed = entered(replace(turn, header=header, record=record), "running", now)
        if not later:  # on disk half a second later, in which a program does little
            await self._store.write(partial(save, turn=changed), small=True, synced=False)
            return changed
        self._begun[turn.id] = changed
        written = self._store.write_later(partial(self._save_begun, turn_id=turn.id))
        written.add_done_callback(lambda _: self._begun.pop(turn.id, None))
        return changed

    def _save_begun(self, connection: Connection, turn_id: str) -> None:
        """A quick answer comes before that was written, and says it all."""
        if (begun := self._begun.get(turn_id)) is not None:
            save(connection, begun)

    async def answered(
        self,
        outcome: Turn,
        plan: Sequence[tuple[PostKind, str]],
        now: datetime,
        seen: Callable[[list[Post]], object] | None = None,
    ) -> tuple[Turn, list[Post]]:
        """Record the answer, and as (kind, text) the posts that will carry it. seen: see write."""
        changed = entered(outcome, "answered", now)
        self._begun.pop(outcome.id, None)

        def work(connection: Connection) -> list[Post]:
            made = self._plan(connection, outcome.id, plan, now, saved(changed))
            return made or posts_of(connection, outcome.id)

        return changed, await self._store.write(work, small=True, seen=seen)

    async def posted(
        self,
        turn: Turn,
        posts: Sequence[Post],
        by: Speaker,
        wanted: Sequence[TurnRequest],
        now: datetime,
        *,
        within_s: float = 0.0,
    ) -> tuple[Turn, int | None, tuple[Turn, ...]]:
        """All posts arrived: store the answer as a message, queue the turns it hands over to.
        Returns the turn, the answer's seq (None when there is none), and the new turns.
        within_s: see write.
        """
        changed = entered(turn, "posted", now)

        def work(connection: Connection) -> tuple[int | None, tuple[Turn, ...]]:
            if len(posts) > 1:  # statements are built for one
                connection.execute(MARK, [marked(post)[1] for post in posts])
            end = self._end(changed, posts if len(posts) == 1 else ())
            if not turn.answer or not posts:
                execute_together(connection, *end)
                return None, ()
            answer = self._message(turn, turn.answer, posts[0], by, now)
            [row] = execute_together(connection, *end, answer)
            seq = int(row.seq)
            asked = _Asked(seq, micros(now), turn.scope, turn.room)
            return seq, self._queue(connection, asked, wanted, now)

        # what a power cut takes is found on the platform again, as after an answer
        seq, made = await self._store.write(work, small=True, synced=False, within_s=within_s)
        return changed, seq, made

    def _message(self, turn: Turn, text: str, post: Post, by: Speaker, now: datetime) -> Written:
        """Its answer as a message of the room. post: the one that it is known by."""
        return self._transcript.answer(
            room_id=turn.room.id,
            message_id=post.platform_id or post.key,
            scope=turn.scope,
            thread_id=turn.thread_id,
            by=by,
            persona=turn.speaker_name,
            turn_id=turn.id,
            hop=turn.hop + 1,
            text=text,
            more=beside(turn) or None,
            now=now,
        )

    async def dropped(self, turn: Turn, now: datetime) -> Turn:
        """Nobody wants it, as its message was deleted, or nobody can be told. What was not posted
        of an answer that it has no more goes."""
        changed = entered(turn, "dropped", now)

        def work(connection: Connection) -> None:
            execute_together(connection, *self._end(changed))
            if turn.answer is None:
                run(connection, FORGET_UNSENT, {"turn": turn.id})

        await self._store.write(work, small=True)
        return changed

    def _end(self, turn: Turn, posts: Sequence[Post] = ()) -> list[Written]:
        """Its last state, where its posts are, and its figure for lists and plots."""
        row = figure(state=turn.state, states=turn.states, record=turn.record, fault=turn.fault)
        row |= {
            "seq": turn.seq,
            "message_seq": turn.message_seq,
            "persona": turn.speaker_name,
            "room_id": turn.room.id,
            "command": not turn.was_asked and turn.fault is None,
        }
        return [*map(marked, posts), saved(turn), (self._put_figure, row)]

    async def open_turns(self) -> list[Turn]:
        """Turns that are not posted or dropped, in their order."""
        return await self._store.read(
            lambda connection: [turn_of(row) for row in connection.execute(OPEN_TURNS)]
        )

    async def turn(self, turn_id: str) -> Turn | None:
        """One turn."""
        return await self._first(TURN, {"of": turn_id})

    async def last_turn(self, scope: str, thread_id: str = "") -> Turn | None:
        """The newest finished turn of a scope that an agent answered. thread_id: in the session of
        this thread."""
        return await self._first(LAST_TURN, {"scope": scope, "thread_id": thread_id})

    async def last_question(self, persona: str, scope: str, thread_id: str | None) -> Turn | None:
        """The newest turn of a scope that asked a persona what still stands there. thread_id: of
        this thread alone."""
        where = {"persona": persona, "scope": scope, "thread": thread_id}
        return await self._first(LAST_QUESTION, where)

    async def ask_again(self, last: Turn, request: TurnRequest, now: datetime) -> tuple[Turn, ...]:
        """Queue a turn that repeats one which has ended; none while the question is open."""

        def work(connection: Connection) -> tuple[Turn, ...]:
            others = connection.execute(TURNS_OF, {"seq": last.message_seq})
            if any(one.persona == last.persona and one.state in OPEN for one in others):
                return ()
            made = self.queue(connection, last.message_seq, [request], now)
            if made:
                save(connection, replace(last, record=last.record | {"retried_as": request.id}))
            return made

        return await self._store.write(work)

    async def _first(self, query: Any, where: dict[str, Any]) -> Turn | None:
        def work(connection: Connection) -> Turn | None:
            row = connection.execute(query, where).first()
            return None if row is None else turn_of(row)

        return await self._store.read(work)

    async def beginner(self, turn: Turn) -> Speaker | None:
        """The one who began a turn's chain: what an agent says to another is on their behalf.

        None: their message is not on record any more.
        """
        asked = await self._transcript.get(turn.again or turn.message_seq)
        for _ in range(LINKS):
            if asked is None or asked.turn_id is None:
                break
            before = await self.turn(asked.turn_id)
            asked = (
                await self._transcript.get(before.again or before.message_seq) if before else None
            )
        return asked.by if asked else None

    async def turns_of(self, message_seq: int) -> list[Turn]:
        """The turns that a message asked for."""
        where = {"seq": message_seq}
        return await self._store.read(
            lambda connection: [turn_of(row) for row in connection.execute(TURNS_OF, where)]
        )

    async def said(self, room_id: str, message_id: str) -> StoredMessage | None:
        """A message by the platform's own id, which may be that of a further piece of an answer."""
        if (found := await self._transcript.find(room_id, message_id)) is not None:
            return found
        where = {"room": room_id, "post": message_id}
        whole = await self._store.read(lambda c: c.execute(ANSWER_WITH, where).scalar())
        return await self._transcript.find(room_id, whole) if whole else None

    # ── Posts ───────────────────────────────────────────────────────────────────────────

    def _plan(
        self,
        connection: Connection,
        turn_id: str,
        plan: Sequence[tuple[PostKind, str]],
        now: datetime,
        *before: Written,
    ) -> list[Post]:
        """Write the final posts; a draft that is there becomes the first of them. before: what is
        written with the first, or alone where there is none."""
        new = [
            Post(f"{turn_id}:{number}", turn_id, number, kind, text, "planned", None, micros(now))
            for number, (kind, text) in enumerate(plan)
        ]
        if before and not new:
            execute_together(connection, *before)
        return [
            self.put_post(connection, post, *(() if number else before))
            for number, post in enumerate(new)
        ]

    async def posts(self, turn_id: str) -> list[Post]:
        """The posts of a turn in their order."""
        return await self._store.read(partial(posts_of, turn_id=turn_id))
