"""Claude Code's hooks and its transcript, read as events of a turn. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters import turn_events as events
from adapters.records.claude_questions import asked
from adapters.records.faults import AGAIN, IN_A_MOMENT, IN_MINUTES, OTHER_MODEL, fault_in, line
from adapters.records.values import text_of
from adapters.records.work import detail_of
from contract.errors import AgentFault
from contract.language import phrase

Json = Mapping[str, Any]

INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
NO_REPLY = "No response requested."  # it fills the gap after a turn that was killed

# ── Hooks ───────────────────────────────────────────────────────────────────────────────


def from_hook(payload: Json) -> Sequence[events.TurnEvent]:
    """The events of one hook payload. `prompt_id` is the turn."""
    turn = text_of(payload.get("prompt_id"))
    match payload.get("hook_event_name"):
        case "UserPromptSubmit":
            return (events.PromptTaken(turn),)
        case "Stop":
            return (
                events.ReplyEnded(
                    text_of(payload.get("last_assistant_message")), whole=False, turn=turn
                ),
            )
        case "StopFailure":
            return (failure(payload, turn),)
        case "PermissionRequest":
            return (asked(payload, turn),)
        case "PreToolUse" | "PostToolUse" | "PostToolUseFailure" as event:
            return _did(event, payload, turn)
        case "PreCompact":
            return (events.ContextCompacted(turn),)
        case "MessageDisplay" if not payload.get("agent_id"):
            first = "\n\n" if payload.get("index") == 0 else ""
            return (events.ReplyDelta(f"{first}{text_of(payload.get('delta'))}", turn),)
    return ()


def _did(event: str, payload: Json, turn: str) -> Sequence[events.TurnEvent]:
    if not (use := text_of(payload.get("tool_use_id"))):
        return ()
    result, failed = None, False
    if event == "PostToolUse":
        result = _told(payload.get("tool_response"))
    elif event == "PostToolUseFailure":
        result, failed = text_of(payload.get("error")), True
    given = _told(payload.get("tool_input"))
    tool = text_of(payload.get("tool_name"))
    cut = None if result is None else result
    return (events.ToolReport(use, tool, given, cut, failed, turn),)


def _told(value: object) -> str:
    """A tool's input, or what it gave back, as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(printed := value.get("stdout"), str):
        return "\n".join(part for part in (printed, text_of(value.get("stderr"))) if part)
    if isinstance(value, list):
        return "\n".join(text_of(block.get("text")) for block in _blocks({"content": value}))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def failure(payload: Json, turn: str) -> events.ReplyFailed:
    """The reason why a turn ended without an answer, with one line that says what to do."""
    error = text_of(payload.get("error"))
    message = " ".join(text_of(payload.get("last_assistant_message")).split()) or error
    kind, remedy = _remedy(error, message)
    say = line("Claude Code", message.partition(". ")[0], remedy)
    return events.ReplyFailed(kind, f"{error}: {message}", say, turn)


def _remedy(error: str, message: str) -> tuple[AgentFault, str]:
    known = fault_in(message)
    if known and known.kind == "context":
        return known.kind, known.remedy
    match error:
        case "authentication_failed" | "oauth_org_not_allowed":
            return "login", phrase(
                "An administrator must check ANTHROPIC_API_KEY, or log in again."
            )
        case "rate_limit":
            return "limit", IN_MINUTES
        case "billing_error":
            return "limit", phrase("An administrator must add funds.")
        case "model_not_found":
            return "api", OTHER_MODEL
        case "server_error" | "overloaded":
            return "api", IN_A_MOMENT
    return (known.kind, known.remedy) if known else ("api", AGAIN)


# ── The transcript ──────────────────────────────────────────────────────────────────────


def from_record(row: Json) -> Sequence[events.TurnEvent]:
    """The events of one line of the session's JSONL.

    Errors are left out: they carry no id of their turn, and the hook has told them before.
    """
    if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
        return (events.ContextCompacted(),)
    message = row.get("message")
    if row.get("isSidechain") or row.get("isMeta") or not isinstance(message, Mapping):
        return ()
    if row.get("type") == "assistant" and not row.get("isApiErrorMessage"):
        if message.get("stop_reason") == "refusal":
            return ()  # withheld by the API; it goes on, or fails
        return [event for block in _blocks(message) for event in _said(block, message)]
    if row.get("type") == "user" and not row.get("isCompactSummary"):
        return _prompted(message.get("content"), text_of(row.get("promptId")))
    return ()


def _said(block: Json, message: Json) -> Sequence[events.TurnEvent]:
    if block.get("type") == "text":
        text = text_of(block.get("text"))
        if text == NO_REPLY and message.get("model") == "<synthetic>":
            return ()
        return (events.ReplyBlock(text, sep=""),)
    if block.get("type") == "tool_use":
        name, given = text_of(block.get("name")), block.get("input")
        use = text_of(block.get("id"))
        did = (events.ToolReport(use, name, _told(given)),) if use else ()
        return (events.ToolUsed(name, detail_of(given)), *did)
    return ()


def _prompted(content: object, turn: str) -> Sequence[events.TurnEvent]:
    """A row of the user: a prompt, a tool's result, or the mark of an interrupt."""
    if isinstance(content, str):
        return (events.PromptTaken(turn),)
    blocks = _blocks({"content": content})
    if results := [block for block in blocks if block.get("type") == "tool_result"]:
        return [_gave(block, turn) for block in results if text_of(block.get("tool_use_id"))]
    if len(blocks) == 1 and blocks[0].get("text") in INTERRUPTED:
        return (events.ReplyEnded(interrupted=True, turn=turn),)
    return (events.PromptTaken(turn),) if blocks else ()


def _gave(block: Json, turn: str) -> events.ToolReport:
    result = _told(block.get("content"))
    failed = block.get("is_error") is True
    return events.ToolReport(
        text_of(block.get("tool_use_id")), result=result, failed=failed, turn=turn
    )


def _blocks(message: Json) -> Sequence[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else ()
