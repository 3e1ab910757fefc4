"""The log of what agents did, searched in three steps: titles, what lies around one, all of it.

Never outside the reader's personas and scopes: the query asks for nothing else, and every row
passes the reader's gate besides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, Text, and_, cast, func, or_

from contract.values import dataclass
from memory.observations.rows import StoredObservation, observations_where, within
from memory.scopes import Gate
from store.database import Store
from store.schema import observations
from store.timestamps import micros

LAYER = "work_log"
MOST = 50  # titles an answer
LOOKED_AT = 500  # newest rows that have one of the words, of which the best are taken
MOST_WORDS = 12
MOST_READ = 20
WEIGHTS = {"title": 4.0, "concepts": 3.0, "subtitle": 2.0, "facts": 1.0, "files": 1.0}
REST = 0.5  # the narrative's

_WORD = re.compile(r"[^\W_]+(?:[._/-][^\W_]+)*", re.UNICODE)
_COMMON_WORDS = (
    "a an and are as at be by did do does for from how in is it of on or that the this to was "
    "were what when where which who why with you"
)
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class WorkReader:
    """The one who searches. gate: the scopes; personas: whose work, None: everybody's."""

    gate: Gate
    personas: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class WorkQuery:
    """A search; a field that is not set does not matter. Words are looked for one by one.

    concept: a whole one. file: a path, or how it ends or begins. since, until: whole moments.
    """

    text: str = ""
    concept: str = ""
    file: str = ""
    kinds: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 20


class WorkLog:
    """Reads observations for whoever may."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def search(self, reader: WorkReader, query: WorkQuery) -> list[StoredObservation]:
        """Step 1: the best of what fits; without words the newest first."""
        words = words_of(query.text)
        if query.text.strip() and not words:
            return []
        selected = _selected(reader, query, words).order_by(_O.seq.desc())
        limit = min(max(query.limit, 1), MOST)
        found = await self._found(reader, selected.limit(LOOKED_AT))
        fitting = [item for item in found if _fits(item, query)]
        if words:
            scored = [(score(item, words), item) for item in fitting]
            scored = [pair for pair in scored if pair[0] > 0]
            fitting = [item for _, item in sorted(scored, key=lambda p: (-p[0], -p[1].seq))]
        return fitting[:limit]

    async def timeline(
        self, reader: WorkReader, id: str, *, before: int = 5, after: int = 5
    ) -> list[StoredObservation]:
        """Step 2: what was observed around one, oldest first; empty when it can't be seen."""
        centre = await self.read(reader, [id])
        if not centre:
            return []
        rows = within(reader.gate.scopes, reader.personas)
        seq, most = centre[0].seq, MOST // 2
        earlier = rows.where(_O.seq < seq).order_by(_O.seq.desc()).limit(min(before, most))
        later = rows.where(_O.seq > seq).order_by(_O.seq).limit(min(after, most))
        old = await self._found(reader, earlier) if before > 0 else []
        new = await self._found(reader, later) if after > 0 else []
        return [*reversed(old), centre[0], *new]

    async def read(self, reader: WorkReader, ids: Sequence[str]) -> list[StoredObservation]:
        """Step 3: whole records in the order of the ids; what can't be seen is left out."""
        wanted = list(dict.fromkeys(ids))[:MOST_READ]
        rows = within(reader.gate.scopes, reader.personas).where(_O.id.in_(wanted))
        known = {item.id: item for item in await self._found(reader, rows)}
        return [known[id] for id in wanted if id in known]

    async def _found(self, reader: WorkReader, query: Select[Any]) -> list[StoredObservation]:
        def work(connection: Connection) -> list[StoredObservation]:
            return observations_where(connection, query)

        found = reader.gate.admit(LAYER, await self._store.read(work))
        personas = reader.personas
        return [item for item in found if personas is None or item.persona in personas]


_O = observations.c
_JSON_TEXT = {name: func.lower(cast(_O[name], Text)) for name in ("facts", "concepts", "files")}


def _selected(reader: WorkReader, query: WorkQuery, words: Sequence[str]) -> Select[Any]:
    """The rows that the database can pick: an upper bound of those that fit."""
    rows = within(reader.gate.scopes, reader.personas)
    if query.kinds:
        rows = rows.where(_O.kind.in_(sorted(query.kinds)))
    if query.since is not None:
        rows = rows.where(_O.at >= micros(query.since))
    if query.until is not None:
        rows = rows.where(_O.at <= micros(query.until))
    plain = [word for word in words if word.isascii()]
    if words and len(plain) == len(words):  # JSON columns hold other letters as escapes
        texts = [_O.title, _O.subtitle, _O.narrative]
        has = [column.icontains(word, autoescape=True) for word in plain for column in texts]
        has += [c.contains(word, autoescape=True) for word in plain for c in _JSON_TEXT.values()]
        rows = rows.where(or_(*has))
    needles = {"concepts": query.concept.strip(), "files": query.file.strip()}
    wanted = {name: text.lower() for name, text in needles.items() if text and _is_bare(text)}
    return rows.where(
        and_(True, *(_JSON_TEXT[n].contains(t, autoescape=True) for n, t in wanted.items()))
    )


def _is_bare(text: str) -> bool:
    """True if JSON writes the text as it is."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def _fits(item: StoredObservation, query: WorkQuery) -> bool:
    concept, file = query.concept.strip().casefold(), query.file.strip().casefold().strip("/")
    if concept and concept not in (c.casefold() for c in item.concepts):
        return False
    return not file or any(_is_file(name.casefold(), file) for name in item.files)


def _is_file(name: str, wanted: str) -> bool:
    """True if a path is the wanted one, lies in it, or ends with it."""
    return name == wanted or name.startswith(f"{wanted}/") or name.endswith(f"/{wanted}")


def words_of(text: str) -> list[str]:
    """The words of a question that tell something, in lower case, each once."""
    words = [word.casefold() for word in _WORD.findall(text)]
    telling = [word for word in words if word not in _COMMON and not _is_letter(word)] or words
    return list(dict.fromkeys(map(_stem, telling)))[:MOST_WORDS]


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isascii() and word.isalpha()


def _stem(word: str) -> str:
    """The word without an ending that other forms of it don't have; looked for as a part."""
    for ending in ("ing", "ed", "es", "s"):
        if word.isalpha() and word.endswith(ending) and len(word) >= len(ending) + 4:
            return word[: -len(ending)]
    return word


def score(item: StoredObservation, words: Sequence[str]) -> float:
    """The fit of an observation to the words: where each stands, and how many there are."""
    texts = {
        "title": item.title,
        "subtitle": item.subtitle,
        "facts": "\n".join(item.facts),
        "concepts": "\n".join(item.concepts),
        "files": "\n".join(item.files),
    }
    folded = [(WEIGHTS[name], text.casefold()) for name, text in texts.items()]
    folded.append((REST, item.narrative.casefold()))
    best = [max((w for w, text in folded if _has(text, word)), default=0.0) for word in words]
    return sum(best) * sum(1 for weight in best if weight)


def _has(text: str, word: str) -> bool:
    """True if a word of the text begins with the word."""
    at = text.find(word)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at >= 0
