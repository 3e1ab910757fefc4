"""The caller of a request, and as whom they may act."""

from __future__ import annotations

from dataclasses import replace

from aiohttp import web

from contract.chat import Speaker
from contract.language import Phrase, as_phrase, later
from contract.values import dataclass
from gateway.web.signin.speaker import Chooser, speaker_of


class RequestRefused(Exception):
    """A request that is turned away: the HTTP status, and a sentence with the remedy.

    retry_s: when it may be tried again; None: that would not help.
    """

    def __init__(self, status: int, message: str | Phrase, retry_s: int | None = None) -> None:
        self.phrase = as_phrase(message)
        super().__init__(self.phrase.in_english)
        self.status = status
        self.retry_s = retry_s


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever proved who they are: a person by a session, or a program by a token.

    session_id: "" for a program. reads: all that a token is good for; "": whatever an owner may.
    """

    person: Speaker
    session_id: str = ""
    token: str = ""
    reads: str = ""

    @property
    def is_person(self) -> bool:
        """True for somebody who signed in."""
        return bool(self.session_id)


_KEY = web.RequestKey("caller", Caller)


def set_caller(request: web.Request, caller: Caller) -> None:
    """Say who sent a request."""
    request[_KEY] = caller


def caller_of(request: web.Request) -> Caller:
    """Who sent a request. Only for routes that need a credential."""
    return request[_KEY]


def acting(request: web.Request, named: str | Chooser | Speaker | None) -> Speaker:
    """Who does it. A person does it in their own name; a program says whose decision it brings, and
    is on record as the one that did it.

    Raises RequestRefused for a person who names somebody else, and Rejected for what is no id.
    """
    caller = caller_of(request)
    if named is None:
        return caller.person
    by = named if isinstance(named, Speaker) else speaker_of(named)
    if not caller.is_person:
        return replace(by, through=caller.person)
    check_same(caller, by.id)
    return caller.person


def check_same(caller: Caller, person_id: str) -> None:
    """Raise RequestRefused when a person who signed in names somebody else."""
    if caller.is_person and person_id != caller.person.id:
        told = later(
            "you are signed in as {own}: nobody speaks for somebody else",
            own=f"{caller.person.name} ({caller.person.id})",
        )
        raise RequestRefused(403, told)
