"""The votes on one question, and whether they decide it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

PAGE = "the page"
"""Whoever answers on the page or by the API: one token, so one person, whatever name they give."""

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
        """Take a person's choice; a later one replaces it."""
        person = self._one(person_id, by_page=by_page)
        before = self._chosen.get(person)
        self._chosen[person] = option
        same = sum(chosen == option for chosen in self._chosen.values())
        if option in self.refusing or same >= self.needs:
            return "decided"
        return "again" if before == option else "waits"

    def _one(self, person_id: str, *, by_page: bool) -> str:
        """The same person on the page and on the platform counts once."""
        if by_page:
            if person_id in self._chosen:
                return person_id
            self._said.add(person_id)
            return PAGE
        return PAGE if person_id in self._said else person_id
