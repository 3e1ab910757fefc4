"""Gemini CLI's hook and its session file, read as events of a turn. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from adapters.records.values import text_of
from adapters.records.work import detail_of
from adapters.turn_events import (
    ContextCompacted,
    ReplyBlock,
    ReplyEnded,
    ReplyRetracted,
    ToolReport,
    ToolUsed,
    TurnEvent,
)

Json = Mapping[str, Any]


def from_hook(payload: Json) -> Sequence[TurnEvent]:
    """The events of one hook payload. AfterAgent comes once a turn, but after errors and stops.

    The record was written before; what that lacks is in `prompt_response`.
    """
    if payload.get("hook_event_name") != "AfterAgent":
        return ()
    heard = text_of(payload.get("prompt_response"))
    restore = partial(restored, heard=heard)
    return (ReplyEnded(recorded=True, well=bool(heard.strip()), restore=restore),)


def restored(recorded: str, heard: str) -> str:
    """The record's text with the invisible characters and comments that it left out of it.

    heard: all that was said in the turn, with pieces of the stream repeated behind each message.
    Where the two do not fit, it stays as it was recorded.
    """
    closed = heard.rfind("-->") + 3 if "-->" in heard else 0  # no comment begins behind it
    found = (*_KEPT.finditer(heard, 0, closed), *_SEEN.finditer(heard, closed))
    kept = [(match.start(), match[1]) for match in found if match[1]]
    at = "".join(text for _, text in kept).rfind(recorded) if recorded else -1
    if at < 0:
        return recorded
    return heard[_place(kept, at) : _place(kept, at + len(recorded) - 1) + 1]


# its record lacks HTML comments, U+200B to U+200F, and U+FEFF
_KEPT = re.compile(
    r"<!--[\s\S]*?-->|[\u200b-\u200f\ufeff]|((?:(?!<!--[\s\S]*?-->)[^\u200b-\u200f\ufeff])+)"
)
_SEEN = re.compile(r"([^\u200b-\u200f\ufeff]+)")


def _place(kept: Sequence[tuple[int, str]], at: int) -> int:
    """Where in the whole the character stands that is number `at` of what was kept of it."""
    for start, text in kept:
        if at < len(text):
            return start + at
        at -= len(text)
    raise ValueError(at)


# ── The session file ────────────────────────────────────────────────────────────────────


def from_record(row: Json) -> Sequence[TurnEvent]:
    """The events of one line of the session's JSONL.

    A message is written again when its tools have run, or its tokens are known: then it is told
    again here. `turn.py` takes a text twice for two, so only the first line of a message counts,
    which is the one without tools.
    """
    if changed := row.get("$set"):
        return (ContextCompacted(),) if _summed_up(changed) else ()
    if row.get("type") == "user":
        return (ReplyRetracted(),) if _asks_again(row.get("content")) else ()
    if row.get("type") != "gemini":
        return ()
    calls = row.get("toolCalls")
    if isinstance(calls, list):
        known = [call for call in calls if isinstance(call, Mapping)]
        events = [event for call in known for event in _called(call)]
        refused = bool(known) and all(call.get("status") == "cancelled" for call in known)
        return [*events, ReplyEnded(interrupted=True)] if refused else events
    said = row.get("content")
    return (ReplyBlock(said),) if isinstance(said, str) and said else ()


def _asks_again(content: object) -> bool:
    """True for the prompt that it writes itself, when the model gave it an empty answer.

    Its hook told an end before (0.61.0).
    """
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, Mapping) and text_of(first.get("text")).startswith("[System: You ")


def _summed_up(changed: object) -> bool:
    """True when the whole conversation was replaced by one that begins with a summary."""
    messages = changed.get("messages") if isinstance(changed, Mapping) else None
    return isinstance(messages, list) and "<state_snapshot>" in json.dumps(messages[:3])


def _called(call: Json) -> Sequence[TurnEvent]:
    """A tool that has run, or was refused."""
    tool, arguments = (
        text_of(call.get("displayName")) or text_of(call.get("name")),
        call.get("args"),
    )
    given = json.dumps(arguments, ensure_ascii=False)
    failed = call.get("status") in ("error", "cancelled")
    result = _result(call)
    return (
        ToolUsed(tool, detail_of(arguments)),
        ToolReport(text_of(call.get("id")), tool, given, result, failed),
    )


def _result(call: Json) -> str:
    """The tool's result, as the model got it."""
    parts = call.get("result")
    responses = (
        [
            response.get("output", response.get("error", ""))
            for part in parts
            if isinstance(part, Mapping)
            if isinstance(whole := part.get("functionResponse"), Mapping)
            if isinstance(response := whole.get("response"), Mapping)
        ]
        if isinstance(parts, list)
        else []
    )
    return "\n".join(text_of(response) for response in responses)
