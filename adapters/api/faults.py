"""The sentence that the room reads when the Anthropic API gave no answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.records.faults import line
from contract.errors import AgentError, AgentFault
from llm.errors import ApiError, ApiFault

_FAILED = "The Anthropic API failed"
_LIMIT = "The Anthropic API's rate limit is reached."
_SAY: Mapping[ApiFault, tuple[AgentFault, str]] = {
    "too_long": (
        "context",
        "That is too long for the model, even without what was said before. Send less at a time.",
    ),
    "payment": ("limit", "The Anthropic API asks for a payment: its account has no credit left."),
    "key": ("login", "The Anthropic API refused the key. An administrator sets ANTHROPIC_API_KEY."),
    "forbidden": (
        "login",
        "The Anthropic API's key may not use {model}. An administrator can change it.",
    ),
    "unknown_model": (
        "api",
        "The Anthropic API knows no model {model}. The persona's `model` names one.",
    ),
    "limit": ("limit", f"{_LIMIT} Ask again in a minute."),
    "overloaded": ("api", "The Anthropic API is overloaded. Ask again in a few minutes."),
    "failed": ("api", f"{_FAILED} ({{what}}). Ask again in a few minutes."),
    "timeout": ("timeout", "The Anthropic API did not answer. Ask again."),
    "unreachable": (
        "api",
        "The Anthropic API can't be reached. Check the network and ANTHROPIC_BASE_URL.",
    ),
    "malformed": (
        "api",
        "What answers is not the Anthropic API. An administrator checks ANTHROPIC_BASE_URL.",
    ),
}


def agent_error(error: ApiError, model: str) -> AgentError:
    """The error with its sentence. The API's own words are in the sentence, not in the log."""
    what = str(error)
    if error.fault == "refused":
        refused = "The Anthropic API refused the request"
        say = line(refused, error.words or what, "If it goes on so, say `!new`")
        return AgentError("api", what, say=say)
    kind, say = _SAY[error.fault]
    if error.broken:
        say = f"{_FAILED} in mid-answer, twice. Ask again in a few minutes."
        if error.status is None:
            say = "The connection to the Anthropic API broke in mid-answer, twice. Ask again."
    elif error.fault == "limit" and error.retry_after_s:
        say = f"{_LIMIT} Ask again in {error.retry_after_s} s."
    return AgentError(kind, what, say=say.format(model=model, what=what))
