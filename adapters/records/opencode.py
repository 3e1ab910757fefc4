"""opencode's database, read as events of a turn. Pure.

It writes each change of a message and of its parts into an append-only table `event`; texts come
whole, when their block is finished.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters import turn_events as events
from adapters.records.faults import AGAIN, BEGIN_NEW, IN_MINUTES, line
from adapters.records.values import text_of
from adapters.records.work import detail_of
from contract.errors import AgentFault
from contract.language import Phrase, later, phrase

Json = Mapping[str, Any]

DETAIL_CHARS = 200

# `turn`: the last prompt that somebody typed, up to the message that the event is about. What
# follows a compaction answers a prompt that opencode wrote or repeated itself. Sessions with a
# parent are subagents'. `calls`: the message has tool calls, so more will follow whatever it ended
# with. `full`: how often the turn's context was too full for the API.
QUERY = """
SELECT r.*, EXISTS (
    SELECT 1 FROM part p WHERE p.message_id = r.message AND json_extract(p.data, '$.type') = 'tool'
) AS calls, (
    SELECT count(*) FROM part p
    WHERE p.session_id = r.session AND p.message_id > r.turn AND json_extract(p.data, '$.overflow')
) AS full
FROM (
    SELECT e.rowid, e.type, e.aggregate_id AS session, e.data, m.id AS message,
        json_extract(m.data, '$.role') AS role, json_extract(m.data, '$.summary') AS summary, (
        SELECT u.id FROM message u
        WHERE u.session_id = e.aggregate_id AND json_extract(u.data, '$.role') = 'user'
        AND u.id <= coalesce(json_extract(m.data, '$.parentID'), m.id)
        AND EXISTS (
            SELECT 1 FROM part p WHERE p.message_id = u.id
            AND json_extract(p.data, '$.type') = 'text'
            AND coalesce(json_extract(p.data, '$.synthetic'), 0) = 0
        ) AND NOT EXISTS (
            SELECT 1 FROM part c WHERE json_extract(c.data, '$.auto') AND c.message_id = (
                SELECT json_extract(b.data, '$.parentID') FROM message b
                WHERE b.session_id = u.session_id AND b.id < u.id
                AND json_extract(b.data, '$.finish') IS NOT NULL
                ORDER BY b.time_created DESC, b.id DESC LIMIT 1
            )
        )
        ORDER BY u.time_created DESC, u.id DESC LIMIT 1
    ) AS turn
    FROM event e
    JOIN session s ON s.id = e.aggregate_id AND s.parent_id IS NULL
    JOIN message m
    ON m.id = coalesce(json_extract(e.data, '$.part.messageID'), json_extract(e.data, '$.info.id'))
    WHERE e.rowid > ?
) r ORDER BY r.rowid
"""


def from_record(row: Json) -> Sequence[events.TurnEvent]:
    """The events of one row of QUERY."""
    try:
        data = json.loads(row["data"])
        turn, mine, compacts = row["turn"] or "", row["role"] == "assistant", row["summary"] == 1
    except (ValueError, KeyError, TypeError):
        return ()
    part, info = _member(data, "part"), _member(data, "info")
    if part and not mine:
        return _prompted(part, row, turn)
    if part:
        return () if compacts else _worked(part, turn)
    return _finished(info, row, turn) if mine and info else ()


def _prompted(part: Json, row: Json, turn: str) -> Sequence[events.TurnEvent]:
    if part.get("type") == "compaction":
        return (
            (events.ContextCompacted(turn),)
            if row.get("full", 0) < 2
            else (events.ContextCompacted(turn), _too_full(turn))
        )
    if part.get("type") == "text" and row.get("message") == turn:
        return (events.SessionNamed(text_of(row.get("session"))), events.PromptTaken(turn))
    return ()


def _worked(part: Json, turn: str) -> Sequence[events.TurnEvent]:
    if part.get("type") == "text" and _member(part, "time").get("end"):
        text = text_of(part.get("text"))
        return (events.ReplyBlock(text, turn=turn),) if text and not part.get("synthetic") else ()
    if part.get("type") == "tool":
        return _used(part, turn)
    return ()


def _used(part: Json, turn: str) -> Sequence[events.TurnEvent]:
    """A tool's call, reported again with each of its states."""
    state, tool = _member(part, "state"), text_of(part.get("tool"))
    given = _member(state, "input")
    call = text_of(part.get("callID")) or text_of(part.get("id"))
    told = json.dumps(given, ensure_ascii=False) if given else ""
    did = events.ToolReport(call, tool, told, turn=turn)
    match state.get("status"):
        case "running":
            return (events.ToolUsed(tool, detail_of(given), turn), did)
        case "completed":
            result = text_of(state.get("output"))
            code = _member(state, "metadata").get("exit")
            ended = code if isinstance(code, int) else None
            return (events.ToolReport(call, tool, did.given, result, turn=turn, exit_code=ended),)
        case "error":
            result = text_of(state.get("error"))
            return (events.ToolReport(call, tool, did.given, result, failed=True, turn=turn),)
    return ()


# ── The end ─────────────────────────────────────────────────────────────────────────────

GOES_ON = ("tool-calls", "unknown")  # how a message ended that others follow


def _finished(info: Json, row: Json, turn: str) -> Sequence[events.TurnEvent]:
    """The end of the turn, if this message is its last.

    A message that is complete without a `finish` was too much for the API: it is asked again.
    """
    if error := _member(info, "error"):
        if error.get("name") == "MessageAbortedError":
            return (events.ReplyEnded(interrupted=True, turn=turn),)
        return (failure(error, turn),)
    goes_on = row.get("calls") or row.get("summary") == 1 or info.get("finish") in GOES_ON
    done = _member(info, "time").get("completed") and info.get("finish")
    return (events.ReplyEnded(turn=turn),) if done and not goes_on else ()


def _too_full(turn: str) -> events.ReplyFailed:
    """Compacted, it is still too much; opencode would compact for ever."""
    say = later(
        "opencode: the conversation does not fit the model's context. {remedy}",
        remedy=Phrase(BEGIN_NEW),
    )
    return events.ReplyFailed("context", "too long after a compaction", say, turn, goes_on=True)


def failure(error: Json, turn: str = "") -> events.ReplyFailed:
    """The reason why a turn ended without an answer, with one line that says what to do."""
    name, told = text_of(error.get("name")), _member(error, "data")
    message = " ".join(text_of(told.get("message")).split()) or name
    kind, remedy = _remedy(name, told.get("statusCode"), message)
    return events.ReplyFailed(kind, f"{name}: {message}", line("opencode", message, remedy), turn)


def _remedy(name: str, status: object, message: str) -> tuple[AgentFault, str]:
    low = message.lower()
    if name == "ContextOverflowError" or "too long" in low or "context length" in low:
        return "context", BEGIN_NEW
    if name == "ProviderAuthError" or status in (401, 403):
        return "login", phrase("An administrator must check the API's key, or log in again.")
    if status == 429 or "rate limit" in low or "too many requests" in low or "quota" in low:
        return "limit", IN_MINUTES
    return "api", AGAIN


def _member(value: object, key: str) -> Json:
    member = value.get(key) if isinstance(value, Mapping) else None
    return member if isinstance(member, Mapping) else {}
