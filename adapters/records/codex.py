"""Codex's rollout, read as events of a turn. Pure.

A call of a tool stands there when the model made it, an item of what was done when it is over: a
script of the model's may do several things in one call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from adapters import turn_events as events
from adapters.records.faults import AGAIN, BEGIN_NEW, IN_A_MOMENT, IN_MINUTES, line
from adapters.records.values import list_of, mapping_of, text_of
from contract.errors import AgentFault
from contract.language import phrase

Json = Mapping[str, Any]

DETAIL_CHARS = 200
WAITS = ("write_stdin", "wait", "sleep")  # they go on with a command that was told before
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def from_record(row: Json) -> Sequence[events.TurnEvent]:
    """The events of one line of the session's JSONL."""
    payload = row.get("payload")
    if not isinstance(payload, Mapping):
        return ()
    match row.get("type"):
        case "session_meta":
            ident = text_of(payload.get("id"))
            return (events.SessionNamed(ident),) if ident else ()
        case "event_msg":
            return _told(payload, text_of(payload.get("turn_id")))
        case "response_item":
            return _called(payload)
        case "compacted":
            return (events.ContextCompacted(),)
    return ()


def _told(payload: Json, turn: str) -> Sequence[events.TurnEvent]:
    match payload.get("type"):
        case "task_started":
            return (events.PromptTaken(turn),)
        case "item_completed" if isinstance(item := payload.get("item"), Mapping):
            return _item(item, turn)
        case "task_complete":
            if isinstance(error := payload.get("error"), Mapping):
                return (failure(error, turn),)
            return (
                events.ReplyEnded(
                    text_of(payload.get("last_agent_message")), whole=False, turn=turn
                ),
            )
        case "turn_aborted":
            return (events.ReplyEnded(interrupted=True, turn=turn),)
    return ()


# ── What it called ──────────────────────────────────────────────────────────────────────


def _called(payload: Json) -> Sequence[events.TurnEvent]:
    """A call in the model's own words."""
    name = text_of(payload.get("name"))
    match payload.get("type"):
        case "function_call" if name == "update_plan":
            use, given = text_of(payload.get("call_id")), text_of(payload.get("arguments"))
            return (events.ToolUsed(name), events.ToolReport(use, name, given, ""))
        case "function_call" if name not in WAITS:
            return (events.ToolUsed(name, _one_line(_argument(payload.get("arguments")))),)
        case "custom_tool_call":
            given = text_of(payload.get("input"))
            return (events.ToolUsed(name, _one_line(", ".join(_PATCHED.findall(given)) or given)),)
        case "web_search_call":
            query = mapping_of(payload.get("action")).get("query")
            return (events.ToolUsed("web_search", _one_line(text_of(query))),)
    return ()


def _argument(arguments: object) -> str:
    """The one argument that tells most: a command, a file, a query."""
    try:
        given = mapping_of(json.loads(text_of(arguments)))
    except ValueError:
        return ""
    for name in ("cmd", "command", "path", "query", "pattern", "url"):
        value = given.get(name)
        if isinstance(value, list):
            return _command(value)
        if isinstance(value, str):
            return value
    return ""


# ── What it said and did ────────────────────────────────────────────────────────────────


def _item(item: Json, turn: str) -> Sequence[events.TurnEvent]:
    use = text_of(item.get("id"))
    status = item.get("status")
    match item.get("type"):
        case "AgentMessage":
            parts = [mapping_of(part) for part in list_of(item.get("content"))]
            return (
                events.ReplyBlock("".join(text_of(part.get("text")) for part in parts), turn=turn),
            )
        case "CommandExecution":
            code = item.get("exit_code") if isinstance(item.get("exit_code"), int) else None
            printed = text_of(item.get("aggregated_output"))
            did = (_command(item.get("command")), printed, status == "failed" or bool(code))
            return _did(use, "exec_command", *did, turn, code)
        case "FileChange":
            printed = "".join(text_of(item.get(name)) for name in ("stdout", "stderr"))
            failed = status not in ("completed", None)
            return _did(use, "apply_patch", _json(item.get("changes")), printed, failed, turn)
        case "McpToolCall":
            tool = f"{text_of(item.get('server'))}.{text_of(item.get('tool'))}"
            result = _json(item.get("error") or item.get("result"))
            given = _json(item.get("arguments"))
            return _did(use, tool, given, result, status == "failed", turn)
        case "ContextCompaction":
            return (events.ContextCompacted(turn),)
    return ()


def _did(
    use: str, tool: str, given: str, result: str, failed: bool, turn: str, code: int | None = None
) -> Sequence[events.TurnEvent]:
    return (events.ToolReport(use, tool, given, result, failed, turn, code),) if use else ()


def _command(argv: object) -> str:
    """`/bin/bash -lc SCRIPT` as its script."""
    words = [word for word in list_of(argv) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:DETAIL_CHARS]


def _json(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


# ── Why it gave no answer ───────────────────────────────────────────────────────────────

# where in the world it was, which nobody in the room can use
_WHERE = re.compile(r", (?:url|request id|cf-ray): [^\s,]+")
_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


def failure(error: Json, turn: str) -> events.ReplyFailed:
    """The error of a turn: its message, and what Codex knows of its kind."""
    message = " ".join(text_of(error.get("message")).split()) or "an error without a message"
    kind, remedy = _remedy(*_kind(error.get("codex_error_info")), message)
    say = line("Codex", _WHERE.sub("", message), remedy)
    return events.ReplyFailed(kind, message, say, turn)


def _kind(info: object) -> tuple[str, int]:
    """Codex' name for the error, and the HTTP status if it has one; "" and 0 if not."""
    if isinstance(info, Mapping) and info:
        name, more = next(iter(info.items()))
        status = more.get("http_status_code") if isinstance(more, Mapping) else None
        return str(name), status if isinstance(status, int) else 0
    return text_of(info), 0


def _remedy(name: str, status: int, message: str) -> tuple[AgentFault, str]:
    if not status and (match := _STATUS.search(message)):
        status = int(match[1])
    if name == "context_window_exceeded" or "context_length_exceeded" in message:
        return "context", BEGIN_NEW
    if name == "unauthorized" or status in (401, 403):
        return "login", phrase("An administrator must check OPENAI_API_KEY, or log in again.")
    if name in ("usage_limit_exceeded", "session_budget_exceeded"):
        return "limit", phrase("Ask again later, or an administrator must raise the limit.")
    if status == 429:
        return "limit", IN_MINUTES
    if status == 404:
        return "api", phrase("An administrator must check the model and OPENAI_BASE_URL.")
    if status >= 500 or name in ("server_overloaded", "internal_server_error"):
        return "api", IN_A_MOMENT
    return "api", AGAIN
