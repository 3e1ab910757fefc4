"""The votes on one question, and whether they decide it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Literal

from contract.values import dataclass

ACCOUNT = "web:"
"""Begins the ids of people who signed in on the page."""

Outcome = Literal["decided", "waits", "again"]
"""waits: one more person must choose the same. again: this person chose it already."""


@dataclass(slots=True)
class Ballot:
    """needs: how many people must choose the same option; one suffices for those that refuse."""

    needs: int
    refusing: Collection[int]
    _chosen: dict[str, int] = field(default_factory=dict)

    def wants_people(self, option: int) -> bool:
        """True if two must choose it: then a program with a token is none of them."""
        return self.needs > 1 and option not in self.refusing

    def choose(self, option: int, person_id: str) -> Outcome:
        """Take a person's choice; a later one replaces it.

        Nobody knows which account of the page is whom on a platform: so two accounts agree, or two
        people of the platform, and never one of each.
        """
        before = self._chosen.get(person_id)
        self._chosen[person_id] = option
        side = person_id.startswith(ACCOUNT)
        same = sum(
            chosen == option and other.startswith(ACCOUNT) == side
            for other, chosen in self._chosen.items()
        )
        if option in self.refusing or same >= self.needs:
            return "decided"
        return "again" if before == option else "waits"

    def withdraw(self, person_id: str) -> int | None:
        """Count a person's choice no more; return it."""
        return self._chosen.pop(person_id, None)
