"""The rows that pages.py gives, one class for each kind, and the filter of observations."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Generic, TypeVar

from contract.values import dataclass
from memory.observations.rows import StoredObservation
from memory.recall.facts import StoredFact
from memory.scopes import Scoped

RECORD = (  # of a session that ended
    "request",
    "investigated",
    "learned",
    "completed",
    "next_steps",
    "files_read",
    "files_edited",
    "notes",
)

Item = TypeVar("Item", bound=Scoped)


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Rows, newest first. next_before: where the next page begins; None at the end."""

    items: tuple[Item, ...]
    next_before: int | None = None


@dataclass(frozen=True, slots=True)
class LandmarkRow:
    """A pinned text. message_id: the platform's id of the message that was pinned."""

    seq: int
    scope: str
    kind: str
    text: str
    by_name: str
    message_id: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """A summary. first_at, last_at: of the messages it covers, while those are stored.

    record: the fields of RECORD that were filled, each a text or several. plain: made without a
    model.
    """

    seq: int
    scope: str
    text: str
    record: dict[str, str | list[str]]
    persona: str | None
    plain: bool
    first_at: datetime | None
    last_at: datetime | None
    at: datetime


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact. replaced_by: number of the fact that took its place, 0 when that one is gone."""

    seq: int
    scope: str
    kind: str
    text: str
    person: str | None
    person_name: str | None
    origin: str | None
    shared: bool
    said_at: datetime
    replaced_by: int | None = None

    @classmethod
    def of(cls, fact: StoredFact) -> FactRow:
        """The same of a fact that recall found."""
        return cls(
            seq=fact.seq,
            scope=fact.scope,
            kind=fact.kind,
            text=fact.text,
            person=fact.person,
            person_name=fact.person_name,
            origin=fact.origin,
            shared=fact.shared_from is not None,
            said_at=fact.said_at,
        )


@dataclass(frozen=True, slots=True)
class TitleRow:
    """An observation in a list."""

    seq: int
    scope: str
    id: str
    kind: str
    title: str
    persona: str
    at: datetime

    @classmethod
    def of(cls, one: StoredObservation) -> TitleRow:
        """The same of a whole observation."""
        return cls(one.seq, one.scope, one.id, one.kind, one.title, one.persona, one.at)


@dataclass(frozen=True, slots=True)
class ObservationContext:
    """An observation, and those before and after it, oldest first."""

    record: StoredObservation
    earlier: tuple[TitleRow, ...]
    later: tuple[TitleRow, ...]


@dataclass(frozen=True, slots=True)
class InsightRow:
    """A pin or a recommendation on a person, by the newest name that they had there."""

    seq: int
    scope: str
    sender_id: str
    sender_name: str
    kind: str
    text: str
    used_at: datetime


@dataclass(frozen=True, slots=True)
class AgentSessionRow:
    """The subject of an agent's session. ended_at: None while it goes on."""

    id: str
    scope: str
    persona: str
    title: str
    subtitle: str
    overview: str
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ObservationFilter:
    """The filter asks for every word of `text` somewhere, a concept, part of a path."""

    text: str = ""
    concept: str = ""
    file: str = ""

    def fits(self, found: StoredObservation) -> bool:
        """True for an observation that has all of it, whatever the case."""
        concepts = {concept.casefold() for concept in found.concepts}
        if self.concept and self.concept.casefold() not in concepts:
            return False
        if self.file and not has_words(self.file, found.files):
            return False
        written = (found.title, found.subtitle, found.narrative)
        return has_words(self.text, (*written, *found.facts, *found.concepts, *found.files))


def has_words(wanted: str, texts: Iterable[str]) -> bool:
    """True if every word of `wanted` is a part of one of the texts, whatever the case."""
    held = "\n".join(texts).casefold()
    return all(word in held for word in wanted.casefold().split())
