"""The sentence that the room reads when the Anthropic API gave no answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.records.faults import line
from contract.errors import AgentError, AgentFault
from contract.language import Phrase, later, phrase
from llm.errors import ApiError, ApiFault

_SAY: Mapping[ApiFault, tuple[AgentFault, str]] = {
    "too_long": (
        "context",
        phrase(
            "That is too long for the model, even without what was said before. "
            "Send less at a time."
        ),
    ),
    "payment": (
        "limit",
        phrase("The Anthropic API asks for a payment: its account has no credit left."),
    ),
    "key": (
        "login",
        phrase("The Anthropic API refused the key. An administrator sets ANTHROPIC_API_KEY."),
    ),
    "forbidden": (
        "login",
        phrase("The Anthropic API's key may not use {model}. An administrator can change it."),
    ),
    "unknown_model": (
        "api",
        phrase("The Anthropic API knows no model {model}. The persona's `model` names one."),
    ),
    "limit": ("limit", phrase("The Anthropic API's rate limit is reached. Ask again in a minute.")),
    "overloaded": ("api", phrase("The Anthropic API is overloaded. Ask again in a few minutes.")),
    "failed": ("api", phrase("The Anthropic API failed ({what}). Ask again in a few minutes.")),
    "timeout": ("timeout", phrase("The Anthropic API did not answer. Ask again.")),
    "unreachable": (
        "api",
        phrase("The Anthropic API can't be reached. Check the network and ANTHROPIC_BASE_URL."),
    ),
    "malformed": (
        "api",
        phrase(
            "What answers is not the Anthropic API. An administrator checks ANTHROPIC_BASE_URL."
        ),
    ),
}


def agent_error(error: ApiError, model: str) -> AgentError:
    """The error with its sentence. The API's own words are in the sentence, not in the log."""
    what = str(error)
    if error.fault == "refused":
        refused = Phrase(phrase("The Anthropic API refused the request"))
        remedy = phrase("If it goes on so, say `!new`.")
        return AgentError("api", what, say=line(refused, error.words or what, remedy))
    kind, english = _SAY[error.fault]
    say = later(english, model=model, what=what)
    if error.broken and error.status is None:
        say = later("The connection to the Anthropic API broke in mid-answer, twice. Ask again.")
    elif error.broken:
        say = later("The Anthropic API failed in mid-answer, twice. Ask again in a few minutes.")
    elif error.fault == "limit" and error.retry_after_s:
        say = later(
            "The Anthropic API's rate limit is reached. Ask again in {seconds} s.",
            seconds=error.retry_after_s,
        )
    return AgentError(kind, what, say=say)
