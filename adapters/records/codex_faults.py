"""Why Codex gave no answer, in one line. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from adapters.cli_profile import ReplyFailed
from contract.errors import AgentFault

Json = Mapping[str, Any]

# where in the world it was, which nobody in the room can use
_WHERE = re.compile(r", (?:url|request id|cf-ray): [^\s,]+")
_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
SAID_CHARS = 200


def failure(error: Json, turn: str) -> ReplyFailed:
    """From a turn's error: its message, and what Codex knows of its kind."""
    message = " ".join(_text(error.get("message")).split()) or "an error without a message"
    kind, remedy = _remedy(*_kind(error.get("codex_error_info")), message)
    said = _WHERE.sub("", _told(message))[:SAID_CHARS].rstrip(". ")
    return ReplyFailed(kind, message, f"Codex: {said}. {remedy}.", turn)


def _kind(info: object) -> tuple[str, int]:
    """Its name for the error, and the HTTP status if it has one; "" and 0 if not."""
    if isinstance(info, Mapping) and info:
        name, more = next(iter(info.items()))
        status = more.get("http_status_code") if isinstance(more, Mapping) else None
        return str(name), status if isinstance(status, int) else 0
    return _text(info), 0


def _remedy(name: str, status: int, message: str) -> tuple[AgentFault, str]:
    if not status and (match := _STATUS.search(message)):
        status = int(match[1])
    if name == "context_window_exceeded":
        return "context", "Say `!new` to begin a new conversation"
    if name == "unauthorized" or status in (401, 403):
        return "login", "An administrator must check OPENAI_API_KEY, or log in again"
    if name in ("usage_limit_exceeded", "session_budget_exceeded"):
        return "limit", "Ask again later, or an administrator must raise the limit"
    if status == 429:
        return "limit", "Ask again in a few minutes"
    if status == 404:
        return "api", "An administrator must check the model and OPENAI_BASE_URL"
    if status >= 500 or name in ("server_overloaded", "internal_server_error"):
        return "api", "Ask again in a moment"
    return "api", "Ask again; if that fails too, say `!new`"


def _told(message: str) -> str:
    """The message; of an API's error as JSON the sentence in it."""
    try:
        error = json.loads(message)["error"]
        return " ".join(_text(error["message"]).split()) or message
    except (ValueError, KeyError, TypeError):
        return message


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
