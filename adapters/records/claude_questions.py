"""Claude Code's questions in mid-turn, as questions for the room with their real choices. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.records.excerpt import changes, excerpt
from adapters.records.values import text_of
from adapters.turn_events import HookQuestion
from contract.agent import Option, Question

Json = Mapping[str, Any]

LABEL_CHARS = 120
REFUSED = "The people in the room refused this. Do without it, or say what you would need."
ELSEWHERE = "They want to answer in the chat. Put the question into your reply and end there."
TITLES = {
    "Bash": "Run this command?",
    "Write": "Write this file?",
    "Edit": "Edit this file?",
    "MultiEdit": "Edit this file?",
    "NotebookEdit": "Edit this notebook?",
    "Read": "Read this file?",
    "WebFetch": "Fetch this page?",
    "WebSearch": "Search the web?",
    "ExitPlanMode": "Go on with this plan?",
    "EnterPlanMode": "Make a plan first?",
}


def asked(payload: Json, turn: str) -> HookQuestion:
    """The question of a PermissionRequest hook, and the response to each choice."""
    tool, arguments = text_of(payload.get("tool_name")), payload.get("tool_input")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    if tool == "AskUserQuestion":
        questions = arguments.get("questions")
        asks = [q for q in questions if _askable(q)] if isinstance(questions, list) else []
        if asks:
            return _choices(arguments, asks, {}, turn)
    options = [Option("Yes")]
    responses = [allow(arguments)]
    suggestions = payload.get("permission_suggestions")
    if isinstance(suggestions, list) and (label := _lasting(suggestions)):
        options.append(Option(f"Yes, and {label}"))
        responses.append(allow(arguments, updatedPermissions=suggestions))
    question = Question(
        "",
        TITLES.get(tool, f"Use {tool or 'a tool'}?"),
        excerpt(_detail(tool, arguments)),
        (*options, Option("No", refuses=True)),
    )
    return HookQuestion(question, (*responses, deny(REFUSED)), turn)


def allow(arguments: Json, **more: object) -> Json:
    """The response that lets it go on. It wants its input again where it asked for a choice."""
    return _decide({"behavior": "allow", "updatedInput": dict(arguments), **more})


def deny(message: str) -> Json:
    """The response that refuses; the turn goes on with the message."""
    return _decide({"behavior": "deny", "message": message})


def _decide(decision: Json) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


# ── What a permission is about ──────────────────────────────────────────────────────────


def _detail(tool: str, arguments: Json) -> str:
    values = {name: value for name, value in arguments.items() if isinstance(value, str)}
    match tool, values:
        case "Bash", {"command": command}:
            why = values.get("description", "")
            return f"{why}\n\n{excerpt(command)}" if why else excerpt(command)
        case "Write", {"file_path": path, "content": content}:
            return f"{path}\n\n{excerpt(content)}"
        case "Edit", {"file_path": path, "old_string": old, "new_string": new}:
            return f"{path}\n\n{excerpt(changes(old, new))}"
        case _, {"plan": plan}:
            return plan
        case _, {"file_path": path}:
            return path
        case _, {"url": url}:
            return url
    return excerpt(json.dumps(arguments, ensure_ascii=False, indent=1)) if arguments else ""


# ── A lasting permission ────────────────────────────────────────────────────────────────


def _lasting(suggestions: Sequence[object]) -> str:
    """The effect of "Yes, and ..." beyond this time; "" when it cannot be told in full."""
    labels = [_suggested(s) if isinstance(s, Mapping) else "" for s in suggestions]
    label = ", and ".join(labels)
    return label if all(labels) and len(label) <= LABEL_CHARS else ""


def _suggested(suggestion: Json) -> str:
    match suggestion:
        case {"type": "setMode", "mode": "acceptEdits"}:
            return "allow all edits in this session"
        case {"type": "addDirectories", "directories": [*folders]}:
            return f"allow access to {', '.join(map(str, folders))}"
        case {"type": "addRules", "behavior": "allow", "rules": [*rules]}:
            return f"don't ask again for {', '.join(_rule(rule) for rule in rules)}"
    return ""


def _rule(rule: object) -> str:
    if not isinstance(rule, Mapping):
        return str(rule)
    tool, content = text_of(rule.get("toolName")), text_of(rule.get("ruleContent"))
    if not content:
        return tool
    return content if tool == "Bash" else f"{tool} {content}"


# ── AskUserQuestion ─────────────────────────────────────────────────────────────────────


def _askable(question: object) -> bool:
    return (
        isinstance(question, Mapping)
        and isinstance(question.get("question"), str)
        and any(_label(option) for option in question.get("options") or ())
    )


def _choices(arguments: Json, asks: Sequence[Json], answers: Json, turn: str) -> HookQuestion:
    """The first of the questions; each of its choices leads to the next, the last to the end."""
    ask, *rest = asks
    text = ask["question"]
    labels = [label for option in ask["options"] if (label := _label(option))]
    if ask.get("multiSelect") and len(labels) > 1:
        labels.append(", ".join(labels))
    responses: list[Json | HookQuestion] = []
    for label in labels:
        chosen = {**answers, text: label}
        responses.append(
            _choices(arguments, rest, chosen, turn)
            if rest
            else allow({**arguments, "answers": chosen})
        )
    question = Question(
        "",
        text,
        excerpt("\n".join(_described(option) for option in ask["options"] if _label(option))),
        (*map(Option, labels), Option("I'll answer in the chat", refuses=True)),
    )
    return HookQuestion(question, (*responses, deny(ELSEWHERE)), turn)


def _label(option: object) -> str:
    return text_of(option.get("label")) if isinstance(option, Mapping) else ""


def _described(option: Json) -> str:
    description = text_of(option.get("description"))
    return f"- {_label(option)}" + (f" — {description}" if description else "")
