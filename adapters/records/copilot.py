"""GitHub Copilot CLI's `events.jsonl`, read as events of a turn. Pure.

A turn is known by the id of its prompt's message; rows without one belong to the last prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from adapters import turn_events as events
from adapters.records.faults import AGAIN, BEGIN_NEW, IN_MINUTES, line
from adapters.records.values import text_of
from adapters.records.work import detail_of
from contract.errors import AgentFault
from contract.language import phrase

Json = Mapping[str, Any]

DETAIL_CHARS = 200


def from_record(row: Json) -> Sequence[events.TurnEvent]:
    """The events of one line; () for what a subagent did."""
    data = row.get("data")
    if not isinstance(data, Mapping) or row.get("agentId") or data.get("parentToolCallId"):
        return ()
    turn = text_of(data.get("originatingMessageId"))
    match row.get("type"):
        case "user.message":
            # 1.0.70 names the row alone, and no message in the rows that belong to it
            ident = text_of(data.get("messageId")) or text_of(row.get("id"))
            return (events.PromptTaken(ident),)
        case "assistant.message":
            return _said(data, turn)
        case "tool.execution_start":
            tool, given = text_of(data.get("toolName")), data.get("arguments")
            return (events.ToolUsed(tool, detail_of(given)), _did(data, tool, given))
        case "tool.execution_complete":
            return (_done(data),)
        case "session.compaction_start" | "session.compaction_complete" as kind:
            return _compacted(data, begins=kind.endswith("start"))
        case "session.error":
            return (failure(data, turn),)
        case "abort":
            return (events.ReplyEnded(interrupted=True),)
    return ()


def _said(data: Json, turn: str) -> Sequence[events.TurnEvent]:
    """A message of the model; the last one has no calls."""
    text = text_of(data.get("content"))
    said = (events.ReplyBlock(text, turn=turn),) if text else ()
    return said if data.get("toolRequests") else (*said, events.ReplyEnded(turn=turn))


def _compacted(data: Json, *, begins: bool) -> Sequence[events.TurnEvent]:
    """By itself it compacts within a turn; its command is a turn of its own.

    In a session without a message the rows are written with the first one: they tell nothing then.
    """
    if data.get("trigger") != "manual":
        return (events.ContextCompacted(),) if begins else ()
    turn = text_of(data.get("compactionAttemptId"))
    if begins:
        return (events.PromptTaken(turn),) if data.get("conversationTokens") else ()
    if data.get("success"):
        return (events.ContextCompacted(turn), events.ReplyEnded(turn=turn))
    if data.get("outcome") == "not_applicable":
        return ()
    return (failure({"message": data.get("error")}, turn),)


def _did(data: Json, tool: str, given: object) -> events.ToolReport:
    told = json.dumps(given, ensure_ascii=False) if given else ""
    return events.ToolReport(text_of(data.get("toolCallId")), tool, told)


def _done(data: Json) -> events.ToolReport:
    result, error = data.get("result"), data.get("error")
    told = result if isinstance(result, Mapping) else error if isinstance(error, Mapping) else {}
    text = text_of(told.get("content")) or text_of(told.get("message"))
    failed = data.get("success") is False
    return events.ToolReport(text_of(data.get("toolCallId")), result=text.strip(), failed=failed)


_STATUS = re.compile(r"[45]\d\d ")  # in its words, where 1.0.70 tells it nowhere else

REMEDIES: Mapping[AgentFault, str] = {
    "login": phrase("An administrator must check the key, or log in again."),
    "limit": IN_MINUTES,
    "context": BEGIN_NEW,
    "api": AGAIN,
}


def failure(data: Json, turn: str = "") -> events.ReplyFailed:
    """The reason why a turn ended without an answer, with one line that says what to do."""
    message = " ".join(text_of(data.get("message")).split())
    said = message.partition("Last error: ")[2] or message
    status = data.get("statusCode") or int(said[:3] if _STATUS.match(said) else 0)
    kind = _kind(text_of(data.get("errorType")), status, message.lower())
    say = line("Copilot", said.partition(" Check your ")[0], REMEDIES[kind])
    return events.ReplyFailed(kind, f"{text_of(data.get('errorType'))}: {message}", say, turn)


def _kind(named: str, status: object, message: str) -> AgentFault:
    if named == "context_limit" or "too long" in message or "context length" in message:
        return "context"
    if named in ("authentication", "authorization") or status in (401, 403):
        return "login"
    if named in ("rate_limit", "quota") or status in (402, 429):
        return "limit"
    return "api"
