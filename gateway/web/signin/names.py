"""Names of people of the page: the id that one makes, and whether readers could confuse it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from contract.chat import Room, Speaker
from contract.errors import Rejected
from contract.language import later
from contract.looks import normalized, skeleton
from gateway.settings.tables import RESERVED

SHELL = Speaker("moot:shell", "the command line")
PAGE = Room("web:page", "the page")  # where roles that hold for the whole house are asked for
NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # some scripts and emoji need them; \W to an id


def look_of(name: str) -> str:
    """The letters and digits that readers see: equal for names that they confuse."""
    return "".join(c for c in skeleton(name) if unicodedata.category(c)[0] in "LNM")


_OWN = frozenset(look_of(name) for name in (*RESERVED, SHELL.name, PAGE.name))
_TOKEN = look_of("the token ")


def check_look(called: str, others: Iterable[str]) -> None:
    """Raise Rejected for a name that reads like one of others, or like Moot itself."""
    mine = look_of(called)
    if mine in _OWN or mine.startswith(_TOKEN):
        raise Rejected(
            "name", later("{name} would be taken for Moot itself, or for all", name=repr(called))
        )
    if taken := next((name for name in others if look_of(name) == mine), None):
        raise Rejected(
            "name", later("looks like {taken}'s, who has an account: take another", taken=taken)
        )


def person_of(name: str) -> tuple[str, str]:
    """The id of a person of the page by their name, and the name without odd blanks. It holds no
    hyphen, see submission.DIRECT. Raises Rejected."""
    called = " ".join(name.removeprefix("web:").split())
    if any(c not in _JOINERS and unicodedata.category(c) in _UNSEEN for c in called):
        raise Rejected("name", "has characters that nobody sees, or that turn the text around")
    plain = normalized("NFKC", called).lower()
    slug = re.sub(r"[\W_]+", "_", plain).strip("_")[:60]
    if not slug or not NAME.fullmatch(called) or f"web:{slug}" == PAGE.id:
        raise Rejected("name", "needs letters or digits, and at most 80 characters")
    return f"web:{slug}", called
