"""What Codex's rollout says, as events of a turn. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.profiles.profile import (
    Began,
    Compacted,
    Did,
    Ended,
    Named,
    Said,
    TurnEvent,
    Used,
    cut_tool_text,
)
from adapters.profiles.codex_faults import failure

Json = Mapping[str, Any]

DETAIL_CHARS = 200


def from_record(row: Json) -> Sequence[TurnEvent]:
    """The events of one line of the session's JSONL."""
    payload = row.get("payload")
    if not isinstance(payload, Mapping):
        return ()
    match row.get("type"):
        case "session_meta":
            ident = _text(payload.get("id"))
            return (Named(ident),) if ident else ()
        case "event_msg":
            return _told(payload, _text(payload.get("turn_id")))
        case "response_item":
            return _called(payload)
        case "compacted":
            return (Compacted(),)
    return ()


def _told(payload: Json, turn: str) -> Sequence[TurnEvent]:
    match payload.get("type"):
        case "task_started" | "turn_started":
            return (Began(turn),)
        case "item_completed" if isinstance(item := payload.get("item"), Mapping):
            return _item(item, turn)
        case "agent_message":  # before items were written
            return (Said(_text(payload.get("message")), turn=turn),)
        case "task_complete" | "turn_complete":
            if isinstance(error := payload.get("error"), Mapping):
                return (failure(error, turn),)
            return (Ended(_text(payload.get("last_agent_message")), whole=False, turn=turn),)
        case "turn_aborted":
            return (Ended(interrupted=True, turn=turn),)
    return ()


# ── What it said and did ────────────────────────────────────────────────────────────────


def _item(item: Json, turn: str) -> Sequence[TurnEvent]:
    use = _text(item.get("id"))
    match item.get("type"):
        case "AgentMessage":
            parts = [part for part in _list(item.get("content")) if isinstance(part, Mapping)]
            return (Said("".join(_text(part.get("text")) for part in parts), turn=turn),)
        case "CommandExecution":
            command = _command(item.get("command"))
            failed = item.get("exit_code") not in (0, None) or item.get("status") == "failed"
            result = cut_tool_text(_text(item.get("aggregated_output")))
            return _did("shell", command, command, Did(use, result=result, failed=failed), turn)
        case "FileChange":
            files = ", ".join(sorted(_mapping(item.get("changes"))))
            failed = item.get("status") not in ("completed", None)
            told = "\n".join(_text(item.get(name)) for name in ("stdout", "stderr")).strip()
            given = json.dumps(item.get("changes"), ensure_ascii=False)
            return _did("edit", files, given, Did(use, result=told, failed=failed), turn)
        case "McpToolCall":
            tool = f"{_text(item.get('server'))}.{_text(item.get('tool'))}"
            given = json.dumps(item.get("arguments"), ensure_ascii=False)
            result = item.get("result") if item.get("error") is None else item.get("error")
            told = cut_tool_text(json.dumps(result, ensure_ascii=False))
            failed = item.get("status") == "failed"
            return _did(tool, "", given, Did(use, result=told, failed=failed), turn)
        case "WebSearch":
            query = _text(item.get("query"))
            return _did("web_search", query, query, Did(use), turn)
        case "ContextCompaction":
            return (Compacted(turn),)
    return ()


def _did(tool: str, detail: str, given: str, did: Did, turn: str) -> Sequence[TurnEvent]:
    used = Used(tool, " ".join(detail.split())[:DETAIL_CHARS], turn)
    whole = Did(did.id, tool, cut_tool_text(given), did.result, did.failed, turn)
    return (used, whole) if did.id else (used,)


def _called(payload: Json) -> Sequence[TurnEvent]:
    """A call in the model's own words: it tells where a new part of the reply begins."""
    return ()


def _command(argv: object) -> str:
    """`/bin/bash -lc SCRIPT` as its script."""
    words = [word for word in _list(argv) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
