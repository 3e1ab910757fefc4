"""The talk after the newest summary: when it is too much for a window, and what stays raw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select

from contract.briefing import Budget
from store.schema import messages

PASSED_PERCENT = 70  # of the window, in messages or in characters: then the older ones go
RAW_PERCENT = 30  # of the window: what the newest messages may fill that stay
LABEL_CHARS = 32  # `[14:02 | Andi (<@U06STGBF4Q0>)] `, which a header puts before each message


@dataclass(frozen=True, slots=True)
class Weight:
    """What a message takes in a window. chars: uncut, without its label."""

    seq: int
    chars: int


_M = messages.c
_WEIGHTS = (
    select(_M.seq, func.length(_M.content).label("chars"))
    .where(_M.scope == bindparam("scope"), _M.seq > bindparam("after"), _M.deleted_at.is_(None))
    .order_by(_M.seq.desc())
    .limit(bindparam("size"))
)

_LAST_ANSWER = (
    select(_M.seq)
    .where(_M.scope == bindparam("scope"), _M.persona == bindparam("persona"))
    .order_by(_M.seq.desc())
    .limit(1)
)


def weights(connection: Connection, scope: str, after: int, size: int) -> list[Weight]:
    """Of the newest `size` messages of a scope after `after`, newest first."""
    where = {"scope": scope, "after": after, "size": size}
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
