"""Reasons why an agent did not answer in the Agent Client Protocol. Pure."""

from __future__ import annotations

import re

from acp.exceptions import RequestError

from adapters.acp.peer import AUTH_REQUIRED
from adapters.cli_profile import Profile
from adapters.records.faults import (
    AGAIN,
    BEGIN_NEW,
    IN_MINUTES,
    dig,
    line,
    reports,
    sentence,
)
from adapters.session.causes import not_logged_in
from contract.errors import AgentError, AgentFault
from contract.language import Phrase, later, phrase

OTHER: tuple[AgentFault, str] = ("api", AGAIN)
_SIGNS: tuple[tuple[AgentFault, re.Pattern[str], str], ...] = (
    (
        "context",
        re.compile(
            r"(?i)context[ _](length|window|size)|maximum context|prompt is too long"
            r"|(exceed|too (long|large)).{0,60}\btokens?\b|\btokens?\b.{0,60}exceed"
        ),
        BEGIN_NEW,
    ),
    (
        "limit",
        re.compile(r"(?i)\b429\b|rate.?limit|too many requests|quota|exhausted|\bbilling\b"),
        IN_MINUTES,
    ),
    (
        "login",
        re.compile(r"(?i)\b401\b|unauthori[sz]ed|api.key|authenticat|log(ged)? ?in\b"),
        phrase("An administrator must check its key, or log in again."),
    ),
)


def fault_of(error: RequestError, profile: Profile) -> AgentError:
    """The error that the program told, with one line that says what to do."""
    said = text_of(error)
    if error.code == AUTH_REQUIRED:
        return login_of(profile)
    return worded(said or f"error {error.code}", profile)


def worded(said: str, profile: Profile) -> AgentError:
    """The error that a message is about. The message itself is for the room, not for a log."""
    shown = sentence(said)
    kind, remedy = next(
        ((kind, remedy) for kind, sign, remedy in _SIGNS if sign.search(shown)), OTHER
    )
    say = line(reports(profile.title), shown, remedy)
    return AgentError(kind, f"{profile.name}: it reports an error", say=say)


def circles(profile: Profile) -> AgentError:
    """True if a fault repeats: what the agent works with does not fit the model."""
    say = later(
        "{title} went round in circles, so I ended it: the conversation does not seem to "
        "fit its model. Its next turn begins a new one, with what the room remembers: ask again.",
        title=profile.title,
    )
    return AgentError("context", f"{profile.name}: message after message without a tool", say=say)


def login_of(profile: Profile) -> AgentError:
    """True if the agent wants a login first."""
    return AgentError("login", f"{profile.name}: it is not logged in", say=not_logged_in(profile))


def stopped_because(reason: str, profile: Profile) -> AgentError | None:
    """The fault that a stop reason is; None: it finished."""
    title, name = profile.title, profile.name
    kind: AgentFault
    match reason:
        case "end_turn":
            return None
        case "max_tokens":
            kind, english = (
                "context",
                phrase("{title} was cut off: the model's limit of tokens is reached."),
            )
        case "max_turn_requests":
            kind, english = (
                "limit",
                phrase("{title} stopped after its limit of steps. Ask it to go on."),
            )
        case "refusal":
            kind, english = "api", phrase("The model behind {title} refuses to answer this.")
        case "cancelled":
            kind, english = "stopped", phrase("{title} was interrupted.")
        case _:
            kind, english = "api", phrase("{title} stopped without saying why. {again}")
    say = later(english, title=title, again=Phrase(AGAIN))
    return AgentError(kind, f"{name}: stop reason {reason[:40]}", say=say)


def text_of(error: RequestError) -> str:
    """The most telling text in an error, which may hold another one as JSON."""
    return dig(error.data) or dig(str(error))
