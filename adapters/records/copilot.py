"""What GitHub Copilot CLI's `events.jsonl` says, as events of a turn. Pure.

A turn is known by the id of its prompt's message; rows without one belong to the last prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    ToolReport,
    ToolUsed,
    TurnEvent,
    cut_tool_text,
)
from contract.errors import AgentFault

Json = Mapping[str, Any]

DETAIL_CHARS = 200


def from_record(row: Json) -> Sequence[TurnEvent]:
    """The events of one line; () for what a subagent did."""
    data = row.get("data")
    if not isinstance(data, Mapping) or row.get("agentId") or data.get("parentToolCallId"):
        return ()
    turn = _text(data.get("originatingMessageId"))
    match row.get("type"):
        case "user.message":
            return (PromptTaken(_text(data.get("messageId"))),)
        case "assistant.message":
            return _said(data, turn)
        case "tool.execution_start":
            tool, given = _text(data.get("toolName")), data.get("arguments")
            return (ToolUsed(tool, detail(given)), _did(data, tool, given))
        case "tool.execution_complete":
            return (_done(data),)
        case "session.compaction_start" | "session.compaction_complete" as kind:
            return _compacted(data, begins=kind.endswith("start"))
        case "session.error":
            return (failure(data, turn),)
        case "abort":
            return (ReplyEnded(interrupted=True),)
    return ()


def _said(data: Json, turn: str) -> Sequence[TurnEvent]:
    """A message of the model; the last one has no calls."""
    text = _text(data.get("content"))
    said = (ReplyBlock(text, turn=turn),) if text else ()
    return said if data.get("toolRequests") else (*said, ReplyEnded(turn=turn))


def _compacted(data: Json, *, begins: bool) -> Sequence[TurnEvent]:
    """By itself it compacts within a turn; its command is a turn of its own.

    In a session without a message the rows are written with the first one: they tell nothing then.
    """
    if data.get("trigger") != "manual":
        return (ContextCompacted(),) if begins else ()
    turn = _text(data.get("compactionAttemptId"))
    if begins:
        return (PromptTaken(turn),) if data.get("conversationTokens") else ()
    if data.get("success"):
        return (ContextCompacted(turn), ReplyEnded(turn=turn))
    if data.get("outcome") == "not_applicable":
        return ()
    return (failure({"message": data.get("error")}, turn),)


def _did(data: Json, tool: str, given: object) -> ToolReport:
    told = json.dumps(given, ensure_ascii=False) if given else ""
    return ToolReport(_text(data.get("toolCallId")), tool, cut_tool_text(told))


def _done(data: Json) -> ToolReport:
    result, error = data.get("result"), data.get("error")
    told = result if isinstance(result, Mapping) else error if isinstance(error, Mapping) else {}
    text = _text(told.get("content")) or _text(told.get("message"))
    failed = data.get("success") is False
    return ToolReport(
        _text(data.get("toolCallId")), result=cut_tool_text(text.strip()), failed=failed
    )


def detail(given: object) -> str:
    """The one line that tells most of a tool's arguments."""
    if not isinstance(given, Mapping):
        return ""
    for name in ("command", "path", "pattern", "url", "query", "description"):
        if isinstance(value := given.get(name), str):
            return " ".join(value.split())[:DETAIL_CHARS]
    return ""


REMEDIES: Mapping[AgentFault, str] = {
    "login": "An administrator must check the key, or log in again",
    "limit": "Ask again in a few minutes",
    "context": "Say `!new` to begin a new conversation",
    "api": "Ask again; if that fails too, say `!new`",
}


def failure(data: Json, turn: str = "") -> ReplyFailed:
    """Why a turn ended without an answer, with one line that says what to do."""
    message = " ".join(_text(data.get("message")).split())
    kind = _kind(_text(data.get("errorType")), data.get("statusCode"), message.lower())
    said = message.partition("Last error: ")[2] or message
    said = said.partition(" Check your ")[0][:DETAIL_CHARS].rstrip(".")
    say = f"Copilot: {said}. {REMEDIES[kind]}."
    return ReplyFailed(kind, f"{_text(data.get('errorType'))}: {message}", say, turn)


def _kind(named: str, status: object, message: str) -> AgentFault:
    if named == "context_limit" or "too long" in message or "context length" in message:
        return "context"
    if named in ("authentication", "authorization") or status in (401, 403):
        return "login"
    if named in ("rate_limit", "quota") or status in (402, 429):
        return "limit"
    return "api"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
