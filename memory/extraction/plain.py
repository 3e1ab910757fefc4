"""The plain form of remembering: what people said is what is known, in their own words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate

from sqlalchemy import Connection, Select, bindparam, select

from contract.chat import unaddressed
from contract.private import private_spans
from memory.cursors import advance, read_cursor
from memory.erasure.quoted_copies import remove_private
from memory.layers import AnsweredTurn, EndedSession, ends_a_run
from memory.private import public
from memory.readable import (
    SMALL_CHARS,
    SMALL_ROWS,
    MessageRange,
    ReadableMessages,
    UnreadMessage,
)
from memory.recall.facts import (
    NewFact,
    add_facts,
    origin_of,
    remove_facts,
    shared_of_message,
    words_of,
)
from memory.recall.telling import telling
from store.database import Store
from store.schema import facts, messages, rooms

_PLACES = (
    select(messages.c.seq, rooms.c.id, rooms.c.name, rooms.c.kind)
    .select_from(messages.join(rooms, rooms.c.id == messages.c.room_id))
    .where(messages.c.seq.in_(bindparam("seqs", expanding=True)))
)

LEAST_WORDS = 4  # "sounds good to me" says nothing without what it is about
LEAST_TELLING = 0.8  # "thanks a lot, see you all tomorrow" has none; one of Han characters has 0.8
_STATES = re.compile(  # three words of which the middle one says what the first is, has or does
    r"\W*[\w'’.-]+\s+(?:is|are|was|were|uses?|used|likes?|prefers?|owns?|needs?|runs?|lives?|means"
    r"|ist|sind|war|nutzt|est|sont|es|son|está|usa|é|são|è|sono|adalah|ialah|pakai)\s+[\w'’.:/-]+\W*",
    re.IGNORECASE,
)
STATES_CHARS = 200
MOST_CHARS = 1_000  # the header shows 300 of them; the index finds it by all
KIND = "message"
_BETWEEN = re.compile(r"(?<=[.!?؟])\s+|(?<=[。！？])|\n+")  # sentences
_ASKS = re.compile(  # in writings that need no question mark, by the word at the end
    r"[?？؟]\Z|(?:吗|呢|ですか|ますか|でしょうか|ไหม|มั้ย|หรือเปล่า|หรือยัง)(?:ครับ|คะ|ค่ะ)?[。.!！]?\Z"
)
_CONTENT = select(messages.c.content, messages.c.sender_id, messages.c.deleted_at).where(
    messages.c.seq == bindparam("of")
)


class MessageFacts:
    """A `Learner`: every remembered message of a person becomes a fact of its own.

    found, gone: called after facts are on disk, and with the ids of those that are not any more.
    learns: False where a model extracts instead; what was learned before still follows its
    messages.
    """

    name = "messages"
    reads_chat = True

    def __init__(
        self,
        store: Store,
        slices: ReadableMessages,
        clock: Callable[[], datetime],
        *,
        found: Callable[[], Awaitable[object]],
        gone: Callable[[Sequence[str]], Awaitable[object]],
        learns: bool = True,
    ) -> None:
        self._store = store
        self._slices = slices
        self._clock = clock
        self._found = found
        self._gone = gone
        self.learns = learns
        self._read_to: dict[str, int] = {}  # of scopes that were read since the start

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        """See Learner."""
        return ends_a_run(interaction, last=last)

    async def learn(self, interaction: AnsweredTurn) -> None:
        """Take in what was said since the last time."""
        if self._read_to.get(interaction.scope, 0) < interaction.message_seq:
            await self.run(interaction.scope)

    async def end(self, session: EndedSession) -> None:
        """Take in what is left."""
        await self.run(session.scope)

    async def run(self, scope: str) -> int:
        """Make facts of the messages behind the pointer; return how many."""
        count = 0
        unread = partial(self._slices.unread, layer=self.name, scope=scope, size=SMALL_ROWS)
        more = True
        while more and (left := await self._store.read(unread, small=True)):
            size, small = _at_once(left)
            work = partial(self._read_on, scope=scope, size=size)
            made = await self._store.write(work, small=small)
            count += made or 0
            more = made is not None and (size < len(left) or len(left) == SMALL_ROWS)
        if count:
            await self._found()
        return count

    async def follow(self, scope: str, seq: int) -> None:
        """A message was edited or deleted: its fact, and what was shared of it, goes with it; so
        does what its author shared of its words and it doesn't say any more.

        What is private in it now is taken out of all that was learned in its scope.
        """
        gone, made = await self._store.write(lambda c: self._follow(c, scope, seq))
        if gone:
            await self._gone(gone)
        if made:
            await self._found()

    # ── Within a connection ─────────────────────────────────────────────────────────────

    def _read_on(self, connection: Connection, scope: str, size: int) -> int | None:
        """`size` messages further: how many facts that made; None where none is left."""
        slice_ = self._slices.read_unread(connection, self.name, scope, size)
        if slice_ is None:
            return None
        made = self._remember(connection, slice_)
        advance(connection, self.name, scope, slice_.last_seq, self._clock())
        self._read_to[scope] = slice_.last_seq
        return made

    def _follow(self, connection: Connection, scope: str, seq: int) -> tuple[list[str], int]:
        before = list(connection.execute(_made_from(scope, seq)).scalars())
        row = connection.execute(_CONTENT, {"of": seq}).one()
        left = "" if row.deleted_at else " ".join(public(row.content).split())
        shared = shared_of_message(connection, row.sender_id, seq)
        lost = [fact.id for fact in shared if words_of(fact) not in left]
        gone = remove_facts(connection, [*before, *lost])
        if row.content:
            gone += remove_private(connection, scope, private_spans(row.content))
        read = self.learns and read_cursor(connection, self.name, scope).seq >= seq
        slice_ = self._slices.read(connection, scope, seq - 1, until=seq, size=1)
        if slice_ is None or not (before or read):
            return gone, 0
        return gone, self._remember(connection, slice_)

    def _remember(self, connection: Connection, slice_: MessageRange) -> int:
        told = [
            (item, text)
            for item in slice_.spoken
            for text in (unaddressed(item.text),)
            if item.by.kind == "human" and is_telling(text)
        ]
        if not told:
            return 0
        seqs = [item.seq for item, _ in told]
        places = {row.seq: row for row in connection.execute(_PLACES, {"seqs": seqs})}
        new = [
            NewFact(
                scope=item.scope,
                kind=KIND,
                text=f"{item.by.name}: {text}"[:MOST_CHARS],
                said_at=item.at,
                source=f"{item.scope} {item.thread_id}" if item.thread_id else item.scope,
                person=item.by.id,
                person_name=item.by.name,
                origin=origin_of(places[item.seq].kind, places[item.seq].name),
                room_id=places[item.seq].id,
                first_seq=item.seq,
                last_seq=item.seq,
                speakers=(item.by.id,),
            )
            for item, text in told
        ]
        return len(add_facts(connection, new, self._clock()))


def _at_once(unread: Sequence[UnreadMessage]) -> tuple[int, bool]:
    """The number of messages that one transaction takes in, and whether that is little to do."""
    chars = list(accumulate(one.chars for one in unread))
    size = max(bisect_right(chars, SMALL_CHARS), 1)
    return size, chars[0] <= SMALL_CHARS and not unread[0].hides


def is_telling(text: str) -> bool:
    """True for a message that says something by itself: more than a word or two, in any script, no
    small talk, and no mere question.

    A question is found best by the same question asked again, and would stand before its answer.
    """
    sentences = filter(None, (part.strip() for part in _BETWEEN.split(text)))
    if all(map(_ASKS.search, sentences)):
        return False
    told = telling(text[:MOST_CHARS])
    states = told.telling > 1 and len(text) <= STATES_CHARS and _STATES.fullmatch(text) is not None
    return told.telling >= LEAST_TELLING and (told.words >= LEAST_WORDS or states)


def _made_from(scope: str, seq: int) -> Select[str]:
    of_it = facts.c.scope == scope, facts.c.kind == KIND, facts.c.first_seq == seq
    return select(facts.c.id).where(*of_it)
