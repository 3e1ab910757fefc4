"""What Claude Code's hooks and its transcript say, as events of a turn. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.records.claude_questions import asked
from adapters.records.faults import AGAIN, fault_in
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyDelta,
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
INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
NO_REPLY = "No response requested."  # it fills the gap after a turn that was killed

# ── Hooks ───────────────────────────────────────────────────────────────────────────────


def from_hook(payload: Json) -> Sequence[TurnEvent]:
    """The events of one hook payload. `prompt_id` is the turn."""
    turn = _text(payload.get("prompt_id"))
    match payload.get("hook_event_name"):
        case "UserPromptSubmit":
            return (PromptTaken(turn),)
        case "Stop":
            return (
                ReplyEnded(_text(payload.get("last_assistant_message")), whole=False, turn=turn),
            )
        case "StopFailure":
            return (failure(payload, turn),)
        case "PermissionRequest":
            return (asked(payload, turn),)
        case "PreToolUse" | "PostToolUse" | "PostToolUseFailure" as event:
            return _did(event, payload, turn)
        case "PreCompact":
            return (ContextCompacted(turn),)
        case "MessageDisplay" if not payload.get("agent_id"):
            first = "\n\n" if payload.get("index") == 0 else ""
            return (ReplyDelta(f"{first}{_text(payload.get('delta'))}", turn),)
    return ()


def _did(event: str, payload: Json, turn: str) -> Sequence[TurnEvent]:
    if not (use := _text(payload.get("tool_use_id"))):
        return ()
    result, failed = None, False
    if event == "PostToolUse":
        result = _told(payload.get("tool_response"))
    elif event == "PostToolUseFailure":
        result, failed = _text(payload.get("error")), True
    given = cut_tool_text(_told(payload.get("tool_input")))
    tool = _text(payload.get("tool_name"))
    cut = None if result is None else cut_tool_text(result)
    return (ToolReport(use, tool, given, cut, failed, turn),)


def _told(value: object) -> str:
    """A tool's input, or what it gave back, as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(printed := value.get("stdout"), str):
        return "\n".join(part for part in (printed, _text(value.get("stderr"))) if part)
    if isinstance(value, list):
        return "\n".join(_text(block.get("text")) for block in _blocks({"content": value}))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def failure(payload: Json, turn: str) -> ReplyFailed:
    """Why a turn ended without an answer, with one line that says what to do."""
    error = _text(payload.get("error"))
    message = " ".join(_text(payload.get("last_assistant_message")).split()) or error
    kind, remedy = _remedy(error, message)
    said = message.partition(". ")[0].rstrip(".")
    return ReplyFailed(kind, f"{error}: {message}", f"Claude Code: {said}. {remedy}.", turn)


def _remedy(error: str, message: str) -> tuple[AgentFault, str]:
    known = fault_in(message)
    if known and known.kind == "context":
        return known.kind, known.remedy
    match error:
        case "authentication_failed" | "oauth_org_not_allowed":
            return "login", "An administrator must check ANTHROPIC_API_KEY, or log in again"
        case "rate_limit":
            return "limit", "Ask again in a few minutes"
        case "billing_error":
            return "limit", "An administrator must add funds"
        case "model_not_found":
            return "api", "An administrator must choose another model"
        case "server_error" | "overloaded":
            return "api", "Ask again in a moment"
    return (known.kind, known.remedy) if known else ("api", AGAIN)


# ── The transcript ──────────────────────────────────────────────────────────────────────


def from_record(row: Json) -> Sequence[TurnEvent]:
    """The events of one line of the session's JSONL.

    Errors are left out: they carry no id of their turn, and the hook has told them before.
    """
    if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
        return (ContextCompacted(),)
    message = row.get("message")
    if row.get("isSidechain") or row.get("isMeta") or not isinstance(message, Mapping):
        return ()
    if row.get("type") == "assistant" and not row.get("isApiErrorMessage"):
        if message.get("stop_reason") == "refusal":
            return ()  # withheld by the API; it goes on, or fails
        return [event for block in _blocks(message) for event in _said(block, message)]
    if row.get("type") == "user" and not row.get("isCompactSummary"):
        return _prompted(message.get("content"), _text(row.get("promptId")))
    return ()


def _said(block: Json, message: Json) -> Sequence[TurnEvent]:
    if block.get("type") == "text":
        text = _text(block.get("text"))
        if text == NO_REPLY and message.get("model") == "<synthetic>":
            return ()
        return (ReplyBlock(text, sep=""),)
    if block.get("type") == "tool_use":
        name, given = _text(block.get("name")), block.get("input")
        use = _text(block.get("id"))
        did = (ToolReport(use, name, cut_tool_text(_told(given))),) if use else ()
        return (ToolUsed(name, detail(given)), *did)
    return ()


def detail(arguments: object) -> str:
    """The one line that tells most of a tool's arguments: a command, a file, a query."""
    if not isinstance(arguments, Mapping):
        return ""
    for name in ("command", "file_path", "notebook_path", "path", "pattern", "url", "query"):
        if isinstance(value := arguments.get(name), str):
            return " ".join(value.split())[:DETAIL_CHARS]
    return ""


def _prompted(content: object, turn: str) -> Sequence[TurnEvent]:
    """A row of the user: a prompt, a tool's result, or the mark of an interrupt."""
    if isinstance(content, str):
        return (PromptTaken(turn),)
    blocks = _blocks({"content": content})
    if results := [block for block in blocks if block.get("type") == "tool_result"]:
        return [_gave(block, turn) for block in results if _text(block.get("tool_use_id"))]
    if len(blocks) == 1 and blocks[0].get("text") in INTERRUPTED:
        return (ReplyEnded(interrupted=True, turn=turn),)
    return (PromptTaken(turn),) if blocks else ()


def _gave(block: Json, turn: str) -> ToolReport:
    result = cut_tool_text(_told(block.get("content")))
    failed = block.get("is_error") is True
    return ToolReport(_text(block.get("tool_use_id")), result=result, failed=failed, turn=turn)


def _blocks(message: Json) -> Sequence[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
