"""What Mistral Vibe's journal of a session says, as events of a turn. Pure.

Each row is one step of its runtime. `projection_delta` rows hold what a client may see: entries
of the history, and the state of the latest turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.records.faults import AGAIN, Fault, fault_in
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    SessionNamed,
    ToolReport,
    ToolUsed,
    TurnEvent,
    cut_tool_text,
)

Json = Mapping[str, Any]

DETAIL_CHARS = 200
SAID_CHARS = 200


def read_row(row: Json) -> Sequence[TurnEvent]:
    """The events of one row of the journal."""
    if row.get("type") != "projection_delta":
        return ()
    changes = _all(_object(row.get("payload")).get("delta"))
    return [event for change in changes for event in _changed(change)]


def _changed(change: Json) -> Sequence[TurnEvent]:
    match change.get("op"):
        case "set_envelope":
            return _stands(_object(change.get("state")))
        case _:  # appended, or replaced
            return _entered(_object(change.get("entry")))


def _entered(entry: Json) -> Sequence[TurnEvent]:
    """An entry of the history: a message, or a tool's use."""
    turn = _text(entry.get("turnId"))
    match entry.get("type"), entry.get("role"):
        case "message", "user":
            return (PromptTaken(turn),)
        case "message", "assistant":
            text = "".join(_text(part.get("text")) for part in _all(entry.get("content")))
            return (ReplyBlock(text, turn=turn),) if text else ()
        case "effect", _:
            return _did(entry, turn)
        case "checkpoint", _ if entry.get("kind") == "compaction":
            return _compacted(entry, turn)
    return ()


def _compacted(entry: Json, turn: str) -> Sequence[TurnEvent]:
    """Its context is condensed: in a turn, or by a command, which is a turn of its own then."""
    done = entry.get("generationStatus") == "completed"
    if turn:
        return (ContextCompacted(turn),) if done else ()
    own = _text(entry.get("id"))
    if entry.get("generationStatus") == "in_progress":
        return (PromptTaken(own),)
    return (ContextCompacted(own), ReplyEnded("", turn=own)) if done else (failure({}, own),)


def _did(entry: Json, turn: str) -> Sequence[TurnEvent]:
    """A tool's use, told when it begins (or waits for an answer) and when it is over."""
    detail, state = _object(entry.get("detail")), _object(entry.get("state"))
    tool, given = _text(detail.get("toolName")), detail.get("input")
    use = _text(entry.get("id"))
    if detail.get("kind") != "tool" or not use:
        return ()
    if entry.get("generationStatus") == "in_progress":
        did = ToolReport(use, tool, cut_tool_text(_told(given)), turn=turn)
        return (ToolUsed(tool, one_line(given), turn), did)
    failed = _object(state.get("display")).get("success") is False
    result = cut_tool_text(_gave(_object(state.get("output"))))
    return (ToolReport(use, tool, cut_tool_text(_told(given)), result, failed, turn),)


def _gave(output: Json) -> str:
    """What a tool gave back: a command's output, or its text."""
    made = output.get("structured_content")
    if isinstance(made, Mapping) and isinstance(printed := made.get("stdout"), str):
        return "\n".join(part for part in (printed, _text(made.get("stderr"))) if part)
    text = "\n".join(_text(part.get("text")) for part in _all(output.get("content")))
    return text or _told(made)


def _told(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def one_line(given: object) -> str:
    """The one line that tells most of a tool's arguments."""
    for name in ("command", "path", "file_path", "pattern", "url", "query", "code"):
        if isinstance(given, Mapping) and isinstance(value := given.get(name), str):
            return " ".join(value.split())[:DETAIL_CHARS]
    return ""


def _stands(state: Json) -> Sequence[TurnEvent]:
    """The state of the session: of its latest turn, when that is over."""
    session = _object(state.get("session"))
    if session.get("parentSessionId"):
        return ()  # another agent's, which this one has asked for help
    named = SessionNamed(_text(session.get("id")))
    latest = _object(state.get("latestTurn"))
    turn = _text(latest.get("id"))
    match latest.get("status"):
        case "completed":
            return (named, ReplyEnded(turn=turn))
        case "interrupted" | "cancelled":
            return (named, ReplyEnded(interrupted=True, turn=turn))
        case "failed":
            return (named, failure(_object(latest.get("error")), turn))
    return (named,)


# ── Faults ──────────────────────────────────────────────────────────────────────────────


_WHERE = re.compile(r" for url '\S+'| For more information check: \S+")  # of no use in a room


def failure(error: Json, turn: str) -> ReplyFailed:
    """Why a turn ended without an answer, with one line that says what to do."""
    code = _text(error.get("code"))
    message = " ".join(_text(error.get("message")).split()) or code or "an error without words"
    fault = _remedy(code, message)
    said = _WHERE.sub("", message)[:SAID_CHARS].rstrip(". ")
    say = f"Mistral Vibe: {said}. {fault.remedy}."
    return ReplyFailed(fault.kind, f"{code}: {message}", say, turn)


def _remedy(code: str, message: str) -> Fault:
    if code == "model_unauthorized":
        return Fault("login", "An administrator must check the API key")
    return fault_in(f"{code} {message}") or Fault("api", AGAIN)


def _object(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _all(value: object) -> Sequence[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
