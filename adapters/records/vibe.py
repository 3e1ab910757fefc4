"""Mistral Vibe's journal of a session, read as events of a turn. Pure.

Each row is one step of its runtime. `projection_delta` rows hold what a client may see: entries
of the history, and the state of the latest turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from adapters import turn_events as events
from adapters.records.faults import AGAIN, Fault, fault_in, line
from adapters.records.values import mapping_of, text_of
from adapters.records.work import detail_of
from contract.language import phrase

Json = Mapping[str, Any]


def read_row(row: Json) -> Sequence[events.TurnEvent]:
    """The events of one row of the journal."""
    if row.get("type") != "projection_delta":
        return ()
    changes = _all(mapping_of(row.get("payload")).get("delta"))
    return [event for change in changes for event in _changed(change)]


def _changed(change: Json) -> Sequence[events.TurnEvent]:
    match change.get("op"):
        case "set_envelope":
            return _stands(mapping_of(change.get("state")))
        case _:  # appended, or replaced
            return _entered(mapping_of(change.get("entry")))


def _entered(entry: Json) -> Sequence[events.TurnEvent]:
    """An entry of the history: a message, or a tool's use."""
    turn = text_of(entry.get("turnId"))
    match entry.get("type"), entry.get("role"):
        case "message", "user":
            return (events.PromptTaken(turn),)
        case "message", "assistant":
            text = "".join(text_of(part.get("text")) for part in _all(entry.get("content")))
            return (events.ReplyBlock(text, turn=turn),) if text else ()
        case "effect", _:
            return _did(entry, turn)
        case "checkpoint", _ if entry.get("kind") == "compaction":
            return _compacted(entry, turn)
    return ()


def _compacted(entry: Json, turn: str) -> Sequence[events.TurnEvent]:
    """The events of a condensed context: in a turn, or by a command, a turn of its own then."""
    done = entry.get("generationStatus") == "completed"
    if turn:
        return (events.ContextCompacted(turn),) if done else ()
    own = text_of(entry.get("id"))
    if entry.get("generationStatus") == "in_progress":
        return (events.PromptTaken(own),)
    return (
        (events.ContextCompacted(own), events.ReplyEnded("", turn=own))
        if done
        else (failure({}, own),)
    )


def _did(entry: Json, turn: str) -> Sequence[events.TurnEvent]:
    """A tool's use, told when it begins (or waits for an answer) and when it is over."""
    detail, state = mapping_of(entry.get("detail")), mapping_of(entry.get("state"))
    tool, given = text_of(detail.get("toolName")), detail.get("input")
    use = text_of(entry.get("id"))
    if detail.get("kind") != "tool" or not use:
        return ()
    if entry.get("generationStatus") == "in_progress":
        did = events.ToolReport(use, tool, _told(given), turn=turn)
        return (events.ToolUsed(tool, detail_of(given), turn), did)
    failed = mapping_of(state.get("display")).get("success") is False
    output = mapping_of(state.get("output"))
    ended = mapping_of(output.get("structured_content")).get("returncode")
    code = ended if isinstance(ended, int) else None
    return (events.ToolReport(use, tool, _told(given), _gave(output), failed, turn, code),)


def _gave(output: Json) -> str:
    """A tool's result: a command's output, or its text."""
    made = output.get("structured_content")
    if isinstance(made, Mapping) and isinstance(printed := made.get("stdout"), str):
        return "\n".join(part for part in (printed, text_of(made.get("stderr"))) if part)
    text = "\n".join(text_of(part.get("text")) for part in _all(output.get("content")))
    return text or _told(made)


def _told(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _stands(state: Json) -> Sequence[events.TurnEvent]:
    """The state of the session: of its latest turn, when that is over."""
    session = mapping_of(state.get("session"))
    if session.get("parentSessionId"):
        return ()  # another agent's, which this one has asked for help
    named = events.SessionNamed(text_of(session.get("id")))
    latest = mapping_of(state.get("latestTurn"))
    turn = text_of(latest.get("id"))
    match latest.get("status"):
        case "completed":
            return (named, events.ReplyEnded(turn=turn))
        case "interrupted" | "cancelled":
            return (named, events.ReplyEnded(interrupted=True, turn=turn))
        case "failed":
            return (named, failure(mapping_of(latest.get("error")), turn))
    return (named,)


# ── Faults ──────────────────────────────────────────────────────────────────────────────


_WHERE = re.compile(r" for url '\S+'| For more information check: \S+")  # of no use in a room


def failure(error: Json, turn: str) -> events.ReplyFailed:
    """The reason why a turn ended without an answer, with one line that says what to do."""
    code = text_of(error.get("code"))
    message = " ".join(text_of(error.get("message")).split()) or code or "an error without words"
    fault = _remedy(code, message)
    say = line("Mistral Vibe", _WHERE.sub("", message), fault.remedy)
    return events.ReplyFailed(fault.kind, f"{code}: {message}", say, turn)


def _remedy(code: str, message: str) -> Fault:
    if code == "model_unauthorized":
        return Fault("login", phrase("An administrator must check the API key."))
    return fault_in(f"{code} {message}") or Fault("api", AGAIN)


def _all(value: object) -> Sequence[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else ()
