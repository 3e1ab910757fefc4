"""The root of every error, and the kinds that cross the borders between rooms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from contract.language import Phrase, as_phrase, later

if TYPE_CHECKING:
    from contract.agent import Usage

#
# MootError                what went wrong, for the log, and `.say`, for the person in the chat
# ├── Rejected             an ingest message breaks the contract; `.field` names where
# ├── Busy                 what is asked for runs one at a time, and runs now
# ├── ConfigError          moot.toml or a persona file; file, key and remedy in one sentence
# ├── AgentError           the agent could not answer; `.kind` says why
# │   └── MachineLost      its machine is away: another one may try
# ├── ModelError           the model behind the memory did not answer; `.passing`: try later
# └── PlatformError        a platform's call failed; `.outcome` says whether it may have happened


class MootError(Exception):
    """Root of the house's errors. phrase: the one line that the person in the chat reads."""

    def __init__(self, message: str | Phrase, *, say: str | Phrase | None = None) -> None:
        super().__init__(as_phrase(message).in_english)
        self.phrase = as_phrase(say or message)

    @property
    def say(self) -> str:
        """That line, in the language of now."""
        return str(self.phrase)


class Rejected(MootError):
    """An ingest message that breaks the contract. Nothing of it was stored."""

    def __init__(self, field_name: str, reason: str | Phrase) -> None:
        reason = as_phrase(reason)
        super().__init__(later("{field}: {reason}", field=field_name, reason=reason))
        self.field = field_name


class Busy(MootError):
    """What is asked for runs one at a time, and somebody's runs now. Try again after its end."""


class ConfigError(MootError):
    """A mistake in the configuration or in a persona: one sentence with file, key and remedy."""


AgentFault = Literal[
    "missing",  # the program is not installed
    "login",  # it asks for a login
    "api",  # its model's API refused or failed
    "limit",  # rate limit or quota
    "context",  # the prompt is too long
    "crash",  # the process ended in mid-answer
    "timeout",  # no end of the turn within its time
    "startup",  # it never became ready
    "disk",  # there is no space where it writes
    "stopped",  # somebody said !stop
]


class AgentError(MootError):
    """The agent could not answer. `partial`: what it had said until then; `usage`: what it took."""

    def __init__(
        self, kind: AgentFault, message: str, *, say: str | Phrase | None = None, partial: str = ""
    ) -> None:
        super().__init__(message, say=say)
        self.kind: AgentFault = kind
        self.partial = partial
        self.usage: Usage | None = None


class MachineLost(AgentError):
    """The machine that an agent worked on can't be reached any more: it may be asked on another."""

    def __init__(self, machine: str) -> None:
        line = later("My machine {machine} went away while I worked.", machine=machine)
        super().__init__("crash", f"{machine} is lost", say=line)


class ModelError(MootError):
    """A call to the model that works behind the memory failed.

    `passing`: it may succeed later (rate limit, overload, no network); else it is a mistake to
    fix (a wrong key, an unknown model) or an answer that can't be used. `usage`: what it took
    all the same. The message holds nothing of the conversation.
    """

    def __init__(
        self,
        message: str,
        *,
        passing: bool,
        say: str | Phrase | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, say=say)
        self.passing = passing
        self.usage = usage


class PlatformError(MootError):
    """A call to a platform failed.

    `outcome`: "refused" it did not happen and would not if repeated; "retry" it did not happen,
    try again after `retry_after_s`; "unknown" it may have happened: look before repeating.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: Literal["refused", "retry", "unknown"],
        retry_after_s: float = 1.0,
        say: str | Phrase | None = None,
    ) -> None:
        super().__init__(message, say=say)
        self.outcome = outcome
        self.retry_after_s = retry_after_s
