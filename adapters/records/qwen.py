"""Qwen Code's hooks and its session file, read as events of a turn. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters import turn_events as events
from adapters.records.faults import AGAIN, BEGIN_NEW, IN_MINUTES, line
from adapters.records.values import text_of
from adapters.records.work import detail_of
from contract.errors import AgentFault
from contract.language import phrase

Json = Mapping[str, Any]


# ── Hooks ───────────────────────────────────────────────────────────────────────────────


def from_hook(payload: Json) -> Sequence[events.TurnEvent]:
    """The events of one hook payload; those of its helpers are nobody's."""
    if payload.get("agent_id"):
        return ()
    match payload.get("hook_event_name"):
        case "UserPromptSubmit":
            return (events.PromptTaken(),)
        case "Stop":
            return (events.ReplyEnded(text_of(payload.get("last_assistant_message")), whole=False),)
        case "StopFailure":
            return (failure(payload),)
        case "PreCompact":
            return (events.ContextCompacted(),)
    return ()


def failure(payload: Json) -> events.ReplyFailed:
    """The reason why a turn ended without an answer, with one line that says what to do."""
    error, details = text_of(payload.get("error")), text_of(payload.get("error_details"))
    message = " ".join(details.split())
    kind, remedy = _remedy(error, message.lower())
    say = line("Qwen Code", message or error, remedy)
    return events.ReplyFailed(kind, f"{error}: {message}", say)


def _remedy(error: str, message: str) -> tuple[AgentFault, str]:
    if any(
        words in message for words in ("context length", "too long", "context_length", "max_tokens")
    ):
        return "context", BEGIN_NEW
    match error:
        case "authentication_failed":
            return "login", phrase("An administrator must check OPENAI_API_KEY.")
        case "rate_limit":
            return "limit", IN_MINUTES
        case "billing_error":
            return "limit", phrase("An administrator must look at the account.")
        case "loop_detected":
            return "api", phrase("It went round in circles and was stopped; ask in other words.")
    return "api", AGAIN


# ── The session file ────────────────────────────────────────────────────────────────────


def from_record(row: Json) -> Sequence[events.TurnEvent]:
    """The events of one line of the session's JSONL."""
    message = row.get("message")
    if row.get("isSidechain") or not isinstance(message, Mapping):
        return ()
    parts = message.get("parts")
    known = [p for p in parts if isinstance(p, Mapping)] if isinstance(parts, list) else []
    if row.get("type") == "assistant":
        said = "".join(text_of(part.get("text")) for part in known if not part.get("thought"))
        calls = [part["functionCall"] for part in known if "functionCall" in part]
        used = [event for call in calls if isinstance(call, Mapping) for event in _called(call)]
        return [*([events.ReplyBlock(said)] if said else []), *used]
    if row.get("type") == "tool_result":
        results = [part["functionResponse"] for part in known if "functionResponse" in part]
        return [_gave(result) for result in results if isinstance(result, Mapping)]
    return ()


def _called(call: Json) -> Sequence[events.TurnEvent]:
    name, arguments = text_of(call.get("name")), call.get("args")
    given = json.dumps(arguments, ensure_ascii=False)
    return (
        events.ToolUsed(name, detail_of(arguments)),
        events.ToolReport(text_of(call.get("id")), name, given),
    )


def _gave(result: Json) -> events.ToolReport:
    response = result.get("response")
    told = response if isinstance(response, Mapping) else {}
    text = text_of(told.get("output")) or text_of(told.get("error"))
    return events.ToolReport(
        text_of(result.get("id")),
        text_of(result.get("name")),
        result=text,
        failed="error" in told,
    )
