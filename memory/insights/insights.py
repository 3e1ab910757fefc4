"""Insights: what is known of a person (pins), and how to work better with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

import structlog
from sqlalchemy import Connection, Row, bindparam, delete, exists, insert, select, update

from contract.agent import ToolUse
from contract.briefing import Note
from contract.chat import unaddressed
from contract.values import dataclass
from memory.insights.tool_failures import Failure, failures, with_failures
from memory.insights.writing import (
    INSTRUCTIONS,
    READ_CHARS,
    WRITE_NOTES,
    material,
    parse_written,
)
from memory.layers import AnsweredTurn, BriefRequest, EndedSession, LayerAnswers
from memory.model import Model, ModelOf
from memory.private import public
from memory.scopes import Gate, check_scope
from memory.text import one_line, relevance, words
from memory.withdrawn import is_withdrawn
from store.database import Store
from store.rows import from_row
from store.schema import insights
from store.timestamps import micros

log = structlog.stdlib.get_logger("moot.memory")

KEPT = 3
TEXT_CHARS = 150
QUESTION_CHARS = 300
TIDIED_EVERY = timedelta(minutes=1)  # expired sets are shown to nobody; they only lie there
LEAST_WORDS = 10

SHOWN: dict[NoteKind, tuple[float, int]] = {"pin": (0.1, 2), "recommendation": (0.05, 1)}
"""Shown when strictly above this relevance, and how many at most."""


class Insights:
    """Notes of one person in one scope. A set that nobody asked for in 30 minutes is deleted.

    model: None: only tool failures are learned from, by rules.
    """

    name = "insights"
    reads_chat = False
    deadline_s = 1.0
    held = exists(select(insights.c.seq))  # anybody's: the expired ones are deleted on the way

    def __init__(self, store: Store, model: ModelOf | None, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._tidied_at = datetime.min.replace(tzinfo=UTC)

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        """The notes that bear on the message; looking them up is what keeps the set alive."""
        now, home, sender = self._clock(), ask.invocation.home, ask.invocation.sender_id
        notes_now = partial(notes_of, scope=home, sender_id=sender, at=now)
        found = await self._store.read(notes_now, small=True)
        if not ask.peek and (found or now >= self._tidied_at + TIDIED_EVERY):
            self._tidied_at = now
            self._store.write_later(partial(renew_notes, scope=home, sender_id=sender, at=now))
        if not found:
            return LayerAnswers()
        notes = own(found, ask.invocation.gate, sender)
        message = unaddressed(public(ask.text[:READ_CHARS]))
        return LayerAnswers(
            pins=_best(notes, "pin", message),
            recommendations=_best(notes, "recommendation", message),
        )

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        """See Learner. Without a model only tools that were used teach anything."""
        if interaction.sender.kind != "human":
            return False
        return bool(interaction.uses) if self._model is None else _teaches(interaction)

    async def learn(self, interaction: AnsweredTurn) -> None:
        """Make a new set out of the old one and a turn. Raises ModelError; the old set stays."""
        if not self.wants(interaction, last=True):
            return
        known = await self._known(interaction)
        if self._model is None:
            new = _by_rules(known, interaction, await _failures(interaction.uses))
        else:
            new = await self._by_model(self._model(interaction.scope), known, interaction)
        if new is not None:
            scope, sender, now = interaction.scope, interaction.sender.id, self._clock()

            def work(connection: Connection) -> None:
                if not is_withdrawn(connection, interaction.turn_id):
                    replace_notes(connection, scope, sender, new, now, seen=known)

            await self._store.write(work)

    async def end(self, session: EndedSession) -> None:
        """Nothing: a set belongs to a person, and expires by itself."""

    async def _known(self, interaction: AnsweredTurn) -> list[StoredNote]:
        """The set that was alive when the turn began, however long the agent took."""
        scope, sender = interaction.scope, interaction.sender.id
        since = min(interaction.at, self._clock())
        found = await self._store.read(lambda c: notes_of(c, scope, sender, since))
        return own(found, Gate(frozenset({scope})), sender)

    async def _by_model(
        self, model: Model, known: Sequence[StoredNote], interaction: AnsweredTurn
    ) -> list[NewNote] | None:
        completion = await model.complete(
            system=INSTRUCTIONS,
            prompt=material(known, interaction),
            tool=WRITE_NOTES,
            max_tokens=1_024,  # six notes are 300 tokens
        )
        written = parse_written(completion)
        if written is None:
            log.warning("insights.malformed", model=model.name)
            return None
        question = _question(interaction)
        before = {_folded(note.text): note.question for note in known}
        lists: dict[NoteKind, list[str]] = {
            "pin": written.pins,
            "recommendation": written.recommendations,
        }
        return [
            NewNote(kind, text, before.get(_folded(text), question))
            for kind, texts in lists.items()
            for text in _tidied(texts)
        ]


def own(notes: Sequence[StoredNote], gate: Gate, sender_id: str) -> list[StoredNote]:
    """The last check before anything is rendered: this scope, this person."""
    return [n for n in gate.admit(Insights.name, notes) if n.sender_id == sender_id]


def _best(notes: Sequence[StoredNote], kind: NoteKind, message: str) -> tuple[Note, ...]:
    above, most = SHOWN[kind]
    scored = [
        Note(note.text, relevance(message, note.text, note.question))
        for note in notes
        if note.kind == kind
    ]
    bearing = [note for note in scored if note.score > above]
    return tuple(sorted(bearing, key=lambda note: -note.score)[:most])


def _teaches(interaction: AnsweredTurn) -> bool:
    """True if it is worth a call: tools were used, or the message says enough."""
    said = unaddressed(interaction.text[:READ_CHARS])
    return bool(interaction.uses) or len(words(said)) >= LEAST_WORDS


def _tidied(texts: Sequence[str]) -> list[str]:
    """One line each, cut; empty and repeated ones left out, and those after the third."""
    lines = (one_line(text, TEXT_CHARS) for text in texts)
    return list({_folded(line): line for line in lines if words(line)}.values())[:KEPT]


async def _failures(uses: Sequence[ToolUse]) -> list[Failure]:
    """The failed uses, one at a time: a turn may have hundreds, and others wait for the loop."""
    found: list[Failure] = []
    for use in uses:
        found += failures([use])
        await asyncio.sleep(0)
    return found


def _by_rules(
    known: Sequence[StoredNote], interaction: AnsweredTurn, failed: Sequence[Failure]
) -> list[NewNote] | None:
    """The old set with a turn's tool failures; None when there were none."""
    if not failed:
        return None
    question = _question(interaction)
    before = {note.text: note.question for note in known if note.kind == "recommendation"}
    texts = with_failures(list(before), failed)
    fresh = {failure.text() for failure in failed}
    return [
        *(NewNote("pin", note.text, note.question) for note in known if note.kind == "pin"),
        *(
            NewNote("recommendation", text, question if text in fresh else before[text])
            for text in texts
        ),
    ]


def _question(interaction: AnsweredTurn) -> str:
    return one_line(unaddressed(interaction.text[:READ_CHARS]), QUESTION_CHARS)


def _folded(text: str) -> str:
    return " ".join(words(text))


# ── As they lie on disk ─────────────────────────────────────────────────────────────────

IDLE = timedelta(minutes=30)

NoteKind = Literal["pin", "recommendation"]


@dataclass(frozen=True, slots=True)
class NewNote:
    """A note to be stored: one line. question: the message that it was learned from."""

    kind: NoteKind
    text: str
    question: str


@dataclass(frozen=True, slots=True)
class StoredNote:
    """A note as it lies on disk. used_at: when its set was last looked up or replaced."""

    seq: int
    scope: str
    sender_id: str
    kind: NoteKind
    text: str
    question: str
    used_at: datetime


_N = insights.c
_OF = (_N.scope == bindparam("of_scope"), _N.sender_id == bindparam("of_sender"))
_SET = select(insights).where(*_OF, _N.used_at > bindparam("since")).order_by(_N.seq)
_RENEW = update(insights).where(*_OF).values(used_at=bindparam("now"))
_EXPIRED = delete(insights).where(_N.used_at <= bindparam("since"))


def _note(row: Row[Any]) -> StoredNote:
    return from_row(StoredNote, row)


# Functions of a connection: they run inside Store.read or Store.write.


def notes_of(connection: Connection, scope: str, sender_id: str, at: datetime) -> list[StoredNote]:
    """The set of one person in one scope that is not expired at `at`, in its order."""
    where = {"of_scope": scope, "of_sender": sender_id, "since": micros(at - IDLE)}
    return [_note(row) for row in connection.execute(_SET, where)]


def renew_notes(connection: Connection, scope: str, sender_id: str, at: datetime) -> None:
    """Delete every expired set, whosever it is; the one named here lives on if it still lives."""
    connection.execute(_EXPIRED, {"since": micros(at - IDLE)})
    connection.execute(_RENEW, {"of_scope": scope, "of_sender": sender_id, "now": micros(at)})


def replace_notes(
    connection: Connection,
    scope: str,
    sender_id: str,
    new: Sequence[NewNote],
    at: datetime,
    *,
    seen: Sequence[StoredNote],
) -> bool:
    """Put a new set in the place of the old one; False: nothing was done.

    seen: the set that the new one was made from. If any of it is gone meanwhile, somebody had it
    forgotten, and the new set may repeat it.
    """
    check_scope(scope)
    mine = (_N.scope == scope, _N.sender_id == sender_id)
    there = set(connection.execute(select(_N.seq).where(*mine)).scalars())
    if not there.issuperset(note.seq for note in seen):
        return False
    connection.execute(delete(insights).where(*mine))
    for note in new:
        values = {"scope": scope, "sender_id": sender_id, "used_at": micros(at)}
        row = {**values, "kind": note.kind, "text": note.text, "question": note.question}
        connection.execute(insert(insights), row)
    return True


def remove_notes(connection: Connection, sender_id: str, scope: str | None = None) -> int:
    """Delete what was noted of a person, in one scope or everywhere; return how many notes."""
    query = delete(insights).where(_N.sender_id == sender_id)
    if scope is not None:
        query = query.where(_N.scope == scope)
    return connection.execute(query).rowcount
