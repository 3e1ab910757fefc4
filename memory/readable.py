"""The chat as the memory may read it: without private parts, commands and what was excluded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, exists, func, select

from contract.chat import Speaker, unaddressed
from contract.looks import normalized
from contract.private import private_spans
from contract.values import dataclass
from memory.cursors import UNREAD
from memory.layers import OWN_TOOLS, AnsweredTurn
from memory.private import public
from store.database import Store
from store.schema import messages, rooms, turns
from store.timestamps import moment
from store.together import run

SMALL_ROWS, SMALL_CHARS = 20, 2_000  # what is read in a millisecond or two, with what it becomes
SAME_ROWS, SAME_CHARS = 64, 20_000  # the same, where it need only be what it was
PRIVATE_FROM = 500  # how many messages are looked through for private parts


@dataclass(frozen=True, slots=True)
class ReadableMessage:
    """A message of a slice. text: what of it may be remembered, never empty."""

    seq: int
    scope: str
    by: Speaker
    persona: str | None
    thread_id: str | None
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class UnreadMessage:
    """A message behind the place of a layer. hides: in its scope something is private, which is
    looked for in every other message as well."""

    chars: int
    hides: bool


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Messages of one scope in their order, and the range of seqs that was looked at.

    last_seq: where to go on next time, also when every message in between was left out. hidden:
    private texts of this scope, taken out wherever they are repeated. rows: what it was made of.
    """

    scope: str
    first_seq: int
    last_seq: int
    spoken: tuple[ReadableMessage, ...]
    hidden: tuple[str, ...] = ()
    rows: tuple[Row[*tuple[Any, ...]], ...] = field(default=(), repr=False, compare=False)

    @property
    def small(self) -> bool:
        """True if its rows are compared with those that are there in a millisecond or two."""
        chars = sum(len(row.content) for row in self.rows)
        return len(self.rows) <= SAME_ROWS and chars <= SAME_CHARS and not self.hidden

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        """The humans who spoke, each once, by their newest name."""
        people = {item.by.id: item.by for item in self.spoken if item.by.kind == "human"}
        return tuple(people.values())

    def first(self, most_chars: int, message_chars: int) -> MessageRange:
        """The beginning, of `most_chars` at most, and at least one message.

        message_chars: so much of a message counts, for the rest of it is cut.
        """
        chars = 0
        for index, item in enumerate(self.spoken):
            chars += min(len(item.text), message_chars)
            if index and chars > most_chars:
                kept, last = self.spoken[:index], self.spoken[index - 1].seq
                rows = tuple(row for row in self.rows if row.seq <= last)
                return replace(self, last_seq=last, spoken=kept, rows=rows)
        return self


_M = messages.c
_ASKED = messages.alias("asked")
_TOLD = turns.alias("told")  # a message with a command, or with pins, has a turn that says so
_HIDDEN = messages.alias("hidden")
_ARE_HIDDEN = select(_HIDDEN.c.seq).where(
    _HIDDEN.c.scope == bindparam("scope"),
    _HIDDEN.c.seq > 0,  # else SQLite looks through the whole scope, not the index of these few
    _HIDDEN.c.private.is_not(None),
)
_HIDES = _ARE_HIDDEN.exists()
_KEPT = _M.include_in_memory & rooms.c.include_in_memory & _M.private.is_distinct_from("all")
_SLICE = (
    select(
        _M.seq,
        _M.scope,
        _M.sender_id,
        _M.sender_name,
        _M.sender_type,
        _M.mention,
        _M.persona,
        _M.thread_id,
        _M.content,
        _M.sent_at,
        _M.room_id,
        _M.turn_id,
        (_M.deleted_at.is_(None) & _KEPT).label("kept"),
        ((turns.c.kind == "ask") & turns.c.fault.is_(None)).label("answers"),
        exists().where(_TOLD.c.message_seq == _M.seq, _TOLD.c.kind == "command").label("commands"),
        (
            _ASKED.c.deleted_at.is_(None) & _ASKED.c.include_in_memory & _ASKED.c.private.is_(None)
        ).label("asked_kept"),
        _HIDES.label("hides"),
    )
    .select_from(
        messages.join(rooms, rooms.c.id == _M.room_id)
        .outerjoin(turns, turns.c.id == _M.turn_id)
        .outerjoin(_ASKED, _ASKED.c.seq == turns.c.message_seq)
    )
    .where(_M.scope == bindparam("scope"))
    .order_by(_M.seq)
    .limit(bindparam("size"))
)
_BETWEEN = _SLICE.where(_M.seq > bindparam("after"), _M.seq <= bindparam("until"))
_UNREAD = _SLICE.where(UNREAD)
_UNREAD_SIZES = (
    select(func.length(_M.content).label("chars"), _HIDES.label("hides"))
    .where(_M.scope == bindparam("scope"), UNREAD)
    .order_by(_M.seq)
    .limit(bindparam("size"))
)
_PRIVATE = (
    select(_M.content, _M.original, _M.private)
    .where(_M.seq.in_(_ARE_HIDDEN), _M.seq <= bindparam("until"))
    .order_by(_M.seq.desc())
    .limit(PRIVATE_FROM)
)
_KEEPABLE = (
    select(
        _M.scope,
        _M.room_id,
        _M.content,
        _KEPT.label("kept"),
    )
    .select_from(messages.join(rooms, rooms.c.id == _M.room_id))
    .where(_M.seq == bindparam("of"), _M.deleted_at.is_(None))
)
_COMMAND = re.compile(r"\W*!(?:[a-z]+|[1-9])(?:\s|\Z)", re.IGNORECASE)


class ReadableMessages:
    """Reads slices. `excluded_rooms`: ids of rooms that the configuration keeps out of memory.

    clean: takes out of a text what nobody may remember: secrets of the configuration.
    """

    def __init__(
        self,
        store: Store,
        excluded_rooms: frozenset[str] = frozenset(),
        clean: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._store = store
        self._clean = clean
        self._excluded = excluded_rooms

    async def after(
        self, scope: str, seq: int, *, until: int = 2**62, size: int = 1000
    ) -> MessageRange | None:
        """The messages of a scope after `seq`, `size` at most; None when there is none."""
        return await self._store.read(
            lambda c: self.read(c, scope, seq, until=until, size=size), small=size == 1
        )

    def read(
        self, connection: Connection, scope: str, after: int, *, until: int, size: int
    ) -> MessageRange | None:
        """The same within a connection."""
        rows = _between(connection, scope, after, until=until, size=size)
        return self._range(connection, scope, rows)

    def unread(
        self, connection: Connection, layer: str, scope: str, size: int
    ) -> list[UnreadMessage]:
        """The first `size` messages behind the place of a layer: how much there is to read."""
        where = {"scope": scope, "layer": layer, "size": size}
        return [UnreadMessage(*row) for row in run(connection, _UNREAD_SIZES, where)]

    def read_unread(
        self, connection: Connection, layer: str, scope: str, size: int
    ) -> MessageRange | None:
        """The messages behind the place of a layer, `size` at most; None when there is none."""
        where = {"scope": scope, "layer": layer, "size": size}
        return self._range(connection, scope, run(connection, _UNREAD, where))

    def _range(
        self, connection: Connection, scope: str, rows: Sequence[Row[*tuple[Any, ...]]]
    ) -> MessageRange | None:
        if not rows:
            return None
        last = rows[-1].seq
        spans = _hidden(connection, scope, last) if rows[0].hides else ()
        spoken = [
            ReadableMessage(row.seq, row.scope, _speaker(row), row.persona, row.thread_id, said, at)
            for row in rows
            if self._may_be_remembered(row) and (said := self._clean(public(row.content, spans)))
            for at in (moment(row.sent_at),)
        ]
        return MessageRange(scope, rows[0].seq, last, tuple(spoken), spans, tuple(rows))

    def still_readable(self, connection: Connection, part: MessageRange) -> bool:
        """False if a message of a slice was deleted, forgotten or hidden since it was read: what
        was made of it meanwhile must not be kept. Nearly always nothing has changed at all."""
        size = part.last_seq - part.first_seq + 1
        after, until = part.first_seq - 1, part.last_seq
        rows = _between(connection, part.scope, after, until=until, size=size)
        if rows and part.rows == tuple(rows) and not rows[0].hides:
            return True
        now = self._range(connection, part.scope, rows)
        left = {item.seq for item in now.spoken} if now is not None else set[int]()
        return left.issuperset(item.seq for item in part.spoken)

    def excludes(self, room_id: str) -> bool:
        """True if the configuration keeps a room out of memory."""
        return room_id in self._excluded

    async def keepable(self, seq: int, text: str) -> str | None:
        """The part that may be kept of a text that a person wants kept, from their message `seq`.

        None: the message, or its room, is kept out of memory. "": all of it is private.
        """

        def work(connection: Connection) -> str | None:
            row = connection.execute(_KEEPABLE, {"of": seq}).first()
            if row is None or not row.kept or row.room_id in self._excluded:
                return None
            hidden = _hidden(connection, row.scope, seq)
            kept = public(text, hidden)
            if _folded(kept) not in _folded(public(row.content, hidden)):
                return ""
            return self._clean(kept)

        return await self._store.read(work)

    async def lesson(self, interaction: AnsweredTurn) -> AnsweredTurn | None:
        """The turn with its texts as they may be remembered; None when it teaches nothing.

        What the agent read in the memory itself is no lesson: it may be of another scope.
        """
        seq = interaction.message_seq
        slice_ = await self.after(interaction.scope, seq - 1, until=seq, size=1)
        if slice_ is None or not slice_.spoken:
            return None
        reply = self._clean(public(interaction.reply, slice_.hidden))
        uses = tuple(
            replace(
                use,
                given=self._clean(public(use.given, slice_.hidden)),
                result=self._clean(public(use.result, slice_.hidden)),
            )
            for use in interaction.uses
            if not use.tool.startswith(OWN_TOOLS)
        )
        return replace(interaction, text=slice_.spoken[0].text, reply=reply, uses=uses)

    def _may_be_remembered(self, row: Row[*tuple[Any, ...]]) -> bool:
        """Neither deleted nor excluded, no command, and no answer to such a message."""
        if not row.kept or row.room_id in self._excluded:
            return False
        typed = normalized("NFKC", unaddressed(row.content))
        if _COMMAND.match(typed) or (row.commands and typed.startswith("/")):
            return False
        if row.turn_id is None:
            return True
        return bool(row.answers and row.asked_kept)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _between(
    connection: Connection, scope: str, after: int, *, until: int, size: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    where = {"scope": scope, "after": after, "until": until, "size": size}
    return run(connection, _BETWEEN, where)


def _hidden(connection: Connection, scope: str, until: int) -> tuple[str, ...]:
    """The private texts of a scope until a message."""
    hidden = set[str]()
    for row in connection.execute(_PRIVATE, {"scope": scope, "until": until}):
        for said in filter(None, (row.content, row.original)):
            hidden.update([said] if row.private == "all" else private_spans(said))
    return tuple(hidden)


def _speaker(row: Row[*tuple[Any, ...]]) -> Speaker:
    return Speaker(row.sender_id, row.sender_name, row.sender_type, row.mention)
