"""Uses of tools that wait on disk until an observer has read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select

from contract.agent import ToolUse
from contract.values import dataclass
from memory.layers import OWN_TOOLS
from memory.withdrawn import is_withdrawn
from store.rows import from_row
from store.schema import messages, tool_uses, turns
from store.timestamps import micros

MOST_WAITING = 200  # a persona and scope: of what no model would read the oldest go
NOISE = 0.1  # of a result that is no text: more is binary

_STATUS = re.compile(
    r"(?:git (?:status|diff|stash list|log)|ls|pwd|whoami|date|true|which|echo|cat /dev/null)\b",
)
_EMPTY = re.compile(
    r"\s*(?:\(.*no (?:content|output|files?).*\)|no (?:matches|files|results?)\b.*"
    r"|.*nothing to commit.*|\[\]|\{\})?\s*",
    re.IGNORECASE | re.DOTALL,
)
_COMMAND = re.compile(r'"command": ?"((?:[^"\\]|\\.)*)"')
_SHORT = 400  # characters; a longer result is not empty whatever it says
_NO_TEXT = re.compile("[^\n\t\r\x20-\x7e\x80-\ud7ff\ue000-\ufffc\U00010000-\U0010ffff]")
_BLOB = re.compile(r"[A-Za-z0-9+/]{400,}={0,2}")
BINARY = "(binary)"


@dataclass(frozen=True, slots=True)
class WaitingUse:
    """A use that nobody has read yet. session_id: key of the agent's session."""

    seq: int
    scope: str
    turn_id: str
    session_id: str
    use: ToolUse
    at: datetime


def worth_reading(uses: Iterable[ToolUse]) -> list[ToolUse]:
    """The uses without empty status checks, repeats and binary noise, fit for any database."""
    kept: dict[ToolUse, None] = {}
    for use in uses:
        clean = replace(use, given=_text(use.given), result=_text(use.result))
        if not clean.tool.startswith(OWN_TOOLS) and not _is_empty_check(clean):
            kept.setdefault(clean)
    return list(kept)


def _is_empty_check(use: ToolUse) -> bool:
    if use.failed or len(use.result) > _SHORT or not _EMPTY.fullmatch(use.result):
        return False
    command = match[1] if (match := _COMMAND.search(use.given)) else use.given
    return bool(_STATUS.match(command.strip())) or use.tool in ("Glob", "Grep", "LS", "Read")


def _text(text: str) -> str:
    """The text without what no text has; of binary data only that it was there."""
    strange = len(_NO_TEXT.findall(text))
    if strange > NOISE * len(text):
        return BINARY
    return _BLOB.sub(BINARY, _NO_TEXT.sub("", text) if strange else text)


# Functions of a connection: they run inside Store.read or Store.write.

_U = tool_uses.c
_ADD = insert(tool_uses)
_HERE = (_U.scope == bindparam("scope")) & (_U.persona == bindparam("persona"))
_COUNT = select(func.count()).select_from(tool_uses).where(_HERE)
_OLDEST = select(_U.seq).where(_HERE).order_by(_U.seq).limit(bindparam("size"))
_KNOWN = select(_U.seq).where(_U.turn_id == bindparam("turn")).where(_HERE).limit(1)
_ASKED = messages.alias("asked")
_WITHDRAWN = (
    select(turns.c.id)
    .join(_ASKED, _ASKED.c.seq == turns.c.message_seq)
    .where(or_(_ASKED.c.deleted_at.is_not(None), ~_ASKED.c.include_in_memory))
)
_WAITING = (
    select(tool_uses)
    .where(_HERE, _U.turn_id.not_in(_WITHDRAWN.where(turns.c.scope == bindparam("scope"))))
    .order_by(_U.seq)
    .limit(bindparam("size"))
)


def add_uses(
    connection: Connection,
    uses: Sequence[ToolUse],
    *,
    scope: str,
    persona: str,
    session: str,
    turn_id: str,
    at: datetime,
) -> None:
    """Let uses wait; a turn that waits already is left as it is, and the oldest make room."""
    here = {"scope": scope, "persona": persona}
    if not uses or connection.execute(_KNOWN, {**here, "turn": turn_id}).first():
        return
    shared = {**here, "session_id": session, "turn_id": turn_id, "at": micros(at)}
    connection.execute(
        _ADD,
        [
            {**shared, "tool": u.tool, "given": u.given, "result": u.result, "failed": u.failed}
            for u in uses
        ],
    )
    over = connection.execute(_COUNT, here).scalar_one() - MOST_WAITING
    if over > 0:
        oldest = connection.execute(_OLDEST, {**here, "size": over}).scalars().all()
        remove_uses(connection, oldest)


def waiting_uses(
    connection: Connection, scope: str, persona: str, size: int = MOST_WAITING
) -> list[WaitingUse]:
    """The oldest uses that wait; those of a message that was deleted or excluded are left out."""
    where = {"scope": scope, "persona": persona, "size": size}
    return [
        from_row(WaitingUse, row, use=ToolUse(row.tool, row.given, row.result, row.failed))
        for row in connection.execute(_WAITING, where)
    ]


def lose_withdrawn(connection: Connection, uses: Sequence[WaitingUse]) -> bool:
    """True if some were forgotten while they were read: those of turns that are withdrawn go."""
    gone = {turn for turn in {item.turn_id for item in uses} if is_withdrawn(connection, turn)}
    remove_uses(connection, [item.seq for item in uses if item.turn_id in gone])
    there = select(func.count()).where(_U.seq.in_([item.seq for item in uses]))
    return bool(connection.execute(there).scalar_one() < len(uses))


def remove_withdrawn(connection: Connection, scope: str) -> None:
    """Forget the uses of turns whose message was deleted or excluded meanwhile."""
    withdrawn = _WITHDRAWN.where(turns.c.scope == scope)
    connection.execute(delete(tool_uses).where(_U.scope == scope, _U.turn_id.in_(withdrawn)))


def remove_uses(connection: Connection, seqs: Sequence[int]) -> None:
    """Forget uses: they were read."""
    connection.execute(delete(tool_uses).where(_U.seq.in_(seqs)))
