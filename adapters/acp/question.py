"""A permission that an agent asks for in the Agent Client Protocol, as a question. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp.schema import (
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionRequest,
    ToolCallUpdate,
)

from adapters.acp.turn import Call, as_text, edits_of, texts_of
from adapters.records.excerpt import excerpt
from contract.agent import Option, Question

Json = Mapping[str, Any]

TITLES = {
    "execute": "Run this command?",
    "edit": "Edit this file?",
    "delete": "Delete this file?",
    "move": "Move this file?",
    "read": "Read this file?",
    "search": "Search for this?",
    "fetch": "Fetch this page?",
    "switch_mode": "Go on with this?",
}
KINDS: tuple[PermissionOptionKind, ...] = (
    "allow_once",
    "allow_always",
    "reject_once",
    "reject_always",
)
CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}


def question_of(request: RequestPermissionRequest, call: Call) -> Question:
    """The agent's own choices, those for once first. call: the use that it is about."""
    options = (Option(o.name, refuses=o.kind.startswith("reject")) for o in _ordered(request))
    title = TITLES.get(call.kind) or f"Use {call.title or 'a tool'}?"
    return Question("", title, excerpt(_detail(request.tool_call, call)), tuple(options))


def _detail(told: ToolCallUpdate, call: Call) -> str:
    """Everything that it tells: a title alone may leave out what matters."""
    given = _command(told.raw_input) or (call.given if told.raw_input is None else "")
    edits = edits_of(told)
    given = given or ("" if edits else as_text(told.raw_input))
    parts = [given, *edits, *texts_of(told), *call.paths]
    if call.title not in given:
        parts.insert(0, call.title)
    whole = ""
    for part in dict.fromkeys(parts):
        if part and part not in whole:
            whole += f"\n\n{part}" if whole else part
    return whole


def _command(raw: object) -> str:
    """The command alone, where the input has little else."""
    match raw:
        case {"command": str(command)}:
            return command
        case {"command": [*words]}:
            return " ".join(map(str, words))
    return ""


def selected(request: RequestPermissionRequest, index: int) -> Json:
    """The response that chooses an option of the question."""
    option = _ordered(request)[index]
    return {"outcome": {"outcome": "selected", "optionId": option.option_id}}


def _ordered(request: RequestPermissionRequest) -> list[PermissionOption]:
    """Gemini CLI's first one is for the whole session: nobody's habit may allow that."""
    return sorted(request.options, key=lambda option: KINDS.index(option.kind))
