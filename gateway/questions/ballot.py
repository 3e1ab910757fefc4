"""The votes on one question, and whether they decide it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

PAGE = "the page"
"""Whoever answers by the API with an owner's token: one person, whatever name it gives."""
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
    _said: set[str] = field(default_factory=set)  # the ids that the page gave

    def choose(self, option: int, person_id: str, *, by_page: bool = False) -> Outcome:
        """Take a person's choice; a later one replaces it.

        by_page: it came with a token. Nobody knows which account of the page is whom on a platform:
        so two accounts agree, or two people of the platform, and never one of each.
        """
        person = self._one(person_id, by_page=by_page)
        before = self._chosen.get(person)
        self._chosen[person] = option
        side = person.startswith(ACCOUNT)
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

    def _one(self, person_id: str, *, by_page: bool) -> str:
        """The same person on the page and on the platform counts once."""
        if by_page:
            if person_id in self._chosen:
                return person_id
            self._said.add(person_id)
            return PAGE
        return PAGE if person_id in self._said else person_id
