"""Scopes: those that an invocation may read, and the gate that every row passes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol, TypeVar

import structlog

from contract.chat import Room
from contract.errors import MootError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.memory")

NO_PERSONA = "-"
"""Stands for the persona in the scope of a direct message in which none takes part."""

_ID = re.compile(r"[^\s*\x00-\x1f\x7f]{1,512}")
_SCOPE = re.compile(r"(room|gdm|profile|project|dm):[^\s*\x00-\x1f\x7f]{1,1600}")


class ScopeError(MootError):
    """An id that could match more than itself: empty, `*`, or with white space in it."""


def _checked(part: str) -> str:
    if not _ID.fullmatch(part):
        raise ScopeError(f"not an id: {part!r}")
    return part


def check_scope(scope: str) -> str:
    """The scope, if it is one. Raises ScopeError."""
    if not _SCOPE.fullmatch(scope):
        raise ScopeError(f"not a scope: {scope!r}; a scope is e.g. room:slack:C06RY3YBSLE")
    return scope


@dataclass(frozen=True)
class Invocation:
    """All that decides about visibility: the room, who asks, whom, and who takes part.

    members: ids of the people known to take part in the room, for their shared profiles. scope:
    that of what is said here, where it was decided before.
    """

    room: Room
    sender_id: str
    persona: str
    members: tuple[str, ...] = ()
    scope: str = ""

    @cached_property
    def home(self) -> str:
        """The scope of what is said here. Raises ScopeError."""
        return self.scope or home_scope(self.room, self.sender_id, self.persona)

    @cached_property
    def gate(self) -> Gate:
        """Lets through what may be read. Raises ScopeError."""
        return Gate(allowed_scopes(self))


def home_scope(room: Room, sender_id: str, persona: str | None) -> str:
    """The scope that what is said here belongs to.

    persona: None: none takes part in it, as where a direct message only pins something; no
    persona's name can be what stands in its place. A kind of room that nobody knows is treated
    like a direct message: its own scope only. Ids may have colons in them, and a persona's name has
    none: the colon at the end and the length tell this scope from every other one.
    """
    if room.kind == "room":
        return f"room:{_checked(room.id)}"
    if room.kind == "gdm":
        return f"gdm:{_checked(room.id)}"
    whose = NO_PERSONA if persona is None else _checked(persona)
    if room.kind == "dm":
        return f"dm:{_checked(sender_id)}:{whose}"
    ids = _checked(sender_id), whose, _checked(room.id)
    return f"dm:{':'.join(ids)}:{len(sender_id)}:"


def allowed_scopes(invocation: Invocation) -> frozenset[str]:
    """Every scope that may be read for this invocation. Nothing outside it reaches a prompt."""
    room = invocation.room
    scopes = {invocation.home}
    if room.kind in ("dm", "room"):
        scopes.add(f"profile:{_checked(invocation.sender_id)}")
    if room.kind == "room":
        scopes |= {f"profile:{_checked(member)}" for member in invocation.members}
    if room.kind in ("dm", "room") and room.project:
        scopes.add(f"project:{_checked(room.project)}")
    return frozenset(scopes)


# ── The gate ────────────────────────────────────────────────────────────────────────────


class Scoped(Protocol):
    """A row of any layer."""

    @property
    def scope(self) -> str:
        """The scope that it belongs to."""


Row = TypeVar("Row", bound=Scoped)


@dataclass(frozen=True, slots=True)
class Gate:
    """The last check before a row is rendered, whatever a query or a backend answered."""

    scopes: frozenset[str]

    def admit(self, layer: str, rows: Iterable[Row]) -> list[Row]:
        """The rows whose scope may be read, in their order; the others are counted in the log."""
        given = list(rows)
        admitted = [row for row in given if row.scope in self.scopes]
        if len(admitted) < len(given):
            refused = len(given) - len(admitted)
            log.warning("memory.refused", layer=layer, rows=refused)
        return admitted
