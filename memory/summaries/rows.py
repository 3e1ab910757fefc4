"""Episodes as they lie on disk, and how far they have read each scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from contract.briefing import Budget
from contract.values import dataclass
from memory.cursors import UNREAD, ReadCursor, advance, read_cursor
from store.schema import episodes, messages, tool_uses

LAYER = "episodes"

_Said = Annotated[str, Field(max_length=2_000)]
_Files = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=100)]


class SessionRecord(BaseModel):
    """A session's record. Fields that nothing is known of are empty."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    request: Annotated[_Said, Field(description="What was wanted.")]
    investigated: Annotated[_Said, Field(description="What was looked into.")]
    learned: Annotated[_Said, Field(description="What was found out.")]
    completed: Annotated[_Said, Field(description="What was done.")]
    next_steps: Annotated[_Said, Field(description="What is left to do.")]
    files_read: Annotated[
        _Files, Field(description="Paths, as they were written in the conversation.")
    ]
    files_edited: Annotated[_Files, Field(description="Likewise.")]
    notes: Annotated[_Said, Field(description="What else somebody who goes on needs to know.")]


@dataclass(frozen=True, slots=True)
class Episode:
    """A summary. first_seq, last_seq: the messages that it took in; those before are in it by the
    summary before it. persona: whose session the record is of. plain: made without a model.
    at: microseconds."""

    seq: int
    scope: str
    first_seq: int
    last_seq: int
    text: str
    record: SessionRecord | None
    persona: str | None
    plain: bool
    at: int


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """A summary to be stored. Fields as in Episode."""

    scope: str
    first_seq: int
    last_seq: int
    text: str
    plain: bool
    at: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The place up to which a scope was read. after: seq of the last message looked at."""

    after: int
    newest: Episode | None
    pointer: ReadCursor = field(default_factory=ReadCursor)


_E, _U = episodes.c, tool_uses.c
_NEWEST = select(episodes).where(_E.scope == bindparam("scope")).order_by(_E.seq.desc()).limit(1)
_WRITTEN = _NEWEST.where(~_E.plain)
_RECORDED = (
    select(_E.last_seq)
    .where(_E.scope == bindparam("scope"), _E.persona == bindparam("persona"))
    .order_by(_E.seq.desc())
    .limit(1)
)
_ADD = insert(episodes)
_RECORD = (
    update(episodes)
    .where(_E.seq == bindparam("of"))
    .values(record=bindparam("found"), persona=bindparam("whose"))
)
_USES = select(_U.tool, _U.given).where(
    _U.scope == bindparam("scope"), _U.persona == bindparam("persona")
)


# Functions of a connection: they run inside Store.read or Store.write.


def _episode(row: Row[Any]) -> Episode:
    record = None if row.record is None else SessionRecord.model_validate(row.record)
    values = {**row._mapping, "record": record}
    return Episode(**values)


def newest_episode(connection: Connection, scope: str) -> Episode | None:
    """The newest summary of a scope."""
    row = connection.execute(_NEWEST, {"scope": scope}).first()
    return None if row is None else _episode(row)


def written_episode(connection: Connection, scope: str) -> Episode | None:
    """The newest summary of a scope that a model wrote."""
    row = connection.execute(_WRITTEN, {"scope": scope}).first()
    return None if row is None else _episode(row)


def progress(connection: Connection, scope: str) -> Progress:
    """The place up to which a scope was read. What was forgotten since is not read again."""
    newest = newest_episode(connection, scope)
    pointer = read_cursor(connection, LAYER, scope)
    last = newest.last_seq if newest is not None else 0
    return Progress(max(pointer.seq, last), newest, pointer)


def recorded(connection: Connection, scope: str, persona: str) -> int:
    """The last message that a record of the persona's sessions knows of; 0: there is none."""
    where = {"scope": scope, "persona": persona}
    return connection.execute(_RECORDED, where).scalar() or 0


def unread_uses(connection: Connection, scope: str, persona: str) -> Sequence[tuple[str, str]]:
    """Tool and what it was given, of the uses that no observer has read yet."""
    where = {"scope": scope, "persona": persona}
    return [(row.tool, row.given) for row in connection.execute(_USES, where)]


def add_episode(connection: Connection, after: int, new: NewEpisode, now: datetime) -> bool:
    """Store a summary and move on; False when somebody else did meanwhile."""
    if not move_on(connection, new.scope, after, new.last_seq, now):
        return False
    connection.execute(_ADD, asdict(new))
    return True


def move_on(connection: Connection, scope: str, after: int, to: int, now: datetime) -> bool:
    """Count what was looked at as read, if it was read up to `after` until now."""
    if progress(connection, scope).after != after:
        return False
    advance(connection, LAYER, scope, to, now)
    return True


def add_record(
    connection: Connection, scope: str, persona: str, record: SessionRecord, now: int
) -> None:
    """Put a session's record beside the newest summary; beside a repetition of it, when another
    session's record stands there."""
    newest = newest_episode(connection, scope)
    if newest is None:
        return
    found = record.model_dump(mode="json")
    if newest.record is None:
        connection.execute(_RECORD, {"of": newest.seq, "found": found, "whose": persona})
        return
    again = NewEpisode(scope, newest.first_seq, newest.last_seq, newest.text, newest.plain, now)
    connection.execute(_ADD, {**asdict(again), "record": found, "persona": persona})


PASSED_PERCENT = 70  # of the window, in messages or in characters: then the older ones go
RAW_PERCENT = 30  # of the window: what the newest messages may fill that stay
LABEL_CHARS = 32  # `[14:02 | Andi (<@U06STGBF4Q0>)] `, which a header puts before each message


@dataclass(frozen=True, slots=True)
class Weight:
    """The room that a message takes in a window. chars: uncut, without its label."""

    seq: int
    chars: int


_M = messages.c
_SUMMARISED_TO = _NEWEST.with_only_columns(_E.last_seq)
_WEIGHTS = (
    select(_M.seq, func.length(_M.content).label("chars"))
    .where(_M.scope == bindparam("scope"), _M.deleted_at.is_(None))
    .where(UNREAD, _M.seq > func.coalesce(_SUMMARISED_TO.scalar_subquery(), 0))
    .order_by(_M.seq.desc())
    .limit(bindparam("size"))
)

_LAST_ANSWER = (
    select(_M.seq)
    .where(_M.scope == bindparam("scope"), _M.persona == bindparam("persona"))
    .order_by(_M.seq.desc())
    .limit(1)
)


def weights(connection: Connection, scope: str, size: int) -> list[Weight]:
    """The sizes of the newest `size` messages of a scope that no summary has taken in, newest
    first."""
    where = {"layer": LAYER, "scope": scope, "size": size}
    return [Weight(row.seq, row.chars) for row in connection.execute(_WEIGHTS, where)]


def last_answer(connection: Connection, scope: str, persona: str) -> int:
    """The newest message of a persona in a scope: what its session ended with; 0: it said none."""
    where = {"scope": scope, "persona": persona}
    return connection.execute(_LAST_ANSWER, where).scalar() or 0


def passed(newest: Sequence[Weight], budget: Budget) -> int:
    """The seq up to which messages are to be summarised; 0 when all of them may stay raw.

    newest: newest first, one more than the window holds if there are so many.
    """
    chars = [min(one.chars, budget.message) + LABEL_CHARS for one in newest]
    over_messages = len(newest) * 100 > budget.window_messages * PASSED_PERCENT
    if not over_messages and sum(chars) * 100 <= budget.transcript * PASSED_PERCENT:
        return 0
    room_messages = budget.window_messages * RAW_PERCENT // 100
    room_chars = budget.transcript * RAW_PERCENT // 100
    for index, (one, size) in enumerate(zip(newest, chars, strict=True)):
        room_chars -= size
        if index and (index >= room_messages or room_chars < 0):
            return one.seq
    return 0
