"""The last check before a row is rendered: whatever a query or a backend answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import structlog

from memory.scopes import Invocation, allowed_scopes

log = structlog.stdlib.get_logger("moot.memory")


class Scoped(Protocol):
    """A row of any layer."""

    @property
    def scope(self) -> str:
        """What it belongs to."""


Row = TypeVar("Row", bound=Scoped)


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets through what may be read for one invocation, and nothing else."""

    scopes: frozenset[str]

    @classmethod
    def of(cls, invocation: Invocation) -> Gate:
        """The gate of an invocation."""
        return cls(allowed_scopes(invocation))

    def admit(self, layer: str, rows: Iterable[Row]) -> list[Row]:
        """The rows whose scope may be read, in their order; the others are counted in the log."""
        given = list(rows)
        admitted = [row for row in given if row.scope in self.scopes]
        if len(admitted) < len(given):
            refused = len(given) - len(admitted)
            log.warning("memory.refused", layer=layer, rows=refused)
        return admitted
