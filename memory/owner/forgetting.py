"""Forgetting a fact: the sentence goes with it, wherever it was learned from the same words."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, or_, select, true, update

from contract.chat import unaddressed
from contract.values import dataclass
from memory.erasure.quoted_copies import remove_words
from memory.owner.owner import MemoryRefusal, Owner, one, visible
from memory.private import LEAST_CHARS, traces
from memory.recall.facts import SHARED, StoredFact, every_fact_in, facts_by_id, words_of
from memory.recall.words import fold
from store.schema import episodes, landmarks, messages, pointers, staging


@dataclass(frozen=True, slots=True)
class ForgottenFact:
    """A fact that is to go with its kin.

    facts: it, the one that it was shared from, those that say the same, and what was shared from a
    message that goes; what was shared from these goes with them. sentences: the words that go.
    said: by scope the seqs of the messages that are not learned from any more. person: whose words
    they are; None: anybody's.
    """

    facts: tuple[StoredFact, ...]
    sentences: tuple[str, ...]
    said: dict[str, tuple[int, ...]]
    person: str | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went: numbers of facts, and in how many rows of a kind the words stood. pins: numbers
    of those that repeat them, which stay."""

    facts: tuple[int, ...]
    copies: int = 0
    reworded: int = 0
    pins: tuple[int, ...] = ()


# Functions of a connection: they run inside Store.read or Store.write.


def find_fact(connection: Connection, owner: Owner, seq: int) -> ForgottenFact:
    """Look up a fact of theirs, and all that says the same. Raises MemoryRefusal."""
    root = visible(connection, owner, seq, or_said_alone=True)
    scopes = {*owner.gate().scopes, owner.profile}
    return _with_kin(connection, [root], scopes, owner.home, owner.id)


def find_words(
    connection: Connection, words: str, scope: str, number: int | None = None
) -> ForgottenFact:
    """Look up what a scope holds of some words, whoever said them, or its fact of a number, and
    all that says the same there or was shared from it. Raises MemoryRefusal."""
    if number is not None:
        if (found := one(connection, [scope], number)) is None:
            raise MemoryRefusal(f"{scope} holds no fact {number}")
        return _with_kin(connection, [found], {scope}, scope)
    sought = fold(" ".join(words.split()))
    every = every_fact_in(connection, [scope], replaced=True)
    roots = [fact for fact in every if sought in fold(words_of(fact))]
    return _with_kin(connection, roots, {scope}, scope, words=(words,))


def _with_kin(
    connection: Connection,
    roots: Sequence[StoredFact],
    scopes: set[str],
    home: str,
    person: str | None = None,
    words: tuple[str, ...] = (),
) -> ForgottenFact:
    """Facts with all that says the same in some scopes. home: where it was said, too."""
    found = {root.id: root for root in roots}
    for fact in roots:
        root = fact
        while root.shared_from and (before := facts_by_id(connection, [root.shared_from])):
            root = before[root.shared_from]
            found[root.id] = root
        for alike in _alike(connection, {*scopes, root.scope}, person, root):
            found.setdefault(alike.id, alike)
    sentences = tuple(dict.fromkeys((*words, *map(words_of, found.values()))))
    said = {
        scope: _said_in(connection, scope, person, list(found.values()), sentences)
        for scope in {fact.scope for fact in found.values()} | {home}
    }
    return ForgottenFact(tuple(found.values()), sentences, said, person)


def _alike(
    connection: Connection, scopes: set[str], person: str | None, root: StoredFact
) -> list[StoredFact]:
    """A person's facts that say the same, and those made of the same message, by `!share` or
    before. person: None: anybody's."""
    message = _message_of(root)
    text = fold(words_of(root))
    return [
        fact
        for fact in every_fact_in(connection, scopes, person=person, replaced=True)
        if fold(words_of(fact)) == text or (message and _message_of(fact) == message)
    ]


def _message_of(fact: StoredFact) -> tuple[str | None, int] | None:
    """The room and the seq of the one message that a fact says again."""
    seq = fact.data.get("message_seq") if fact.source == SHARED else fact.first_seq
    if seq is None or (fact.source != SHARED and fact.kind != "message"):
        return None
    return fact.room_id, seq


def _said_in(
    connection: Connection,
    scope: str,
    person: str | None,
    found: Sequence[StoredFact],
    sentences: tuple[str, ...],
) -> tuple[int, ...]:
    """A person's messages, or anybody's, and agents' answers, of a scope that say one of the
    sentences again."""
    at = messages.c
    whose = true() if person is None else or_(at.sender_id == person, at.persona.is_not(None))
    query = select(at.seq, at.content).where(at.scope == scope, whose, at.include_in_memory)
    made_of = {seq for fact in found if (one := _message_of(fact)) for seq in one[1:]}
    return tuple(
        row.seq
        for row in connection.execute(query)
        if row.seq in made_of or _repeats(unaddressed(row.content), sentences)
    )


def _repeats(text: str, sentences: tuple[str, ...]) -> bool:
    """True if a text says one of them again: whole, or half of what tells it."""
    folded, said = fold(" ".join(text.split())), traces([text])
    return any(
        fold(sentence) in folded or (known and len(known & said) * 2 >= len(known))
        for sentence in sentences
        for known in (traces([sentence]),)
        if len(sentence) >= LEAST_CHARS
    )


def unlearn(connection: Connection, going: ForgottenFact) -> None:
    """Let nothing be learned any more from the messages that say it."""
    for seqs in going.said.values():
        excluded = update(messages).where(messages.c.seq.in_(seqs))
        connection.execute(excluded.values(include_in_memory=False))


def forget_words(connection: Connection, going: ForgottenFact) -> Forgotten:
    """Take the words out of all that was learned where they were said, but for facts and pins.

    Summaries that a model wrote tell things in words of their own: those that may have taken in
    one of the messages are made again of what is left, and so are those after them.
    """
    reworded = 0
    pins: list[int] = []
    for scope, seqs in going.said.items():
        for first, last in {(f.first_seq, f.last_seq) for f in going.facts if f.scope == scope}:
            of_it = (staging.c.first_seq == first) & (staging.c.last_seq == last)
            connection.execute(delete(staging).where(staging.c.scope == scope, of_it))
        firsts = [fact.first_seq for fact in going.facts if fact.scope == scope and fact.first_seq]
        reworded += _remake_summaries(connection, scope, min([*seqs, *firsts], default=None))
        reworded += remove_words(connection, scope, going.person, going.sentences)
        pinned = select(landmarks.c.seq, landmarks.c.text).where(landmarks.c.scope == scope)
        pins += [r.seq for r in connection.execute(pinned) if _repeats(r.text, going.sentences)]
    return Forgotten(tuple(sorted(fact.seq for fact in going.facts)), 0, reworded, tuple(pins))


def _remake_summaries(connection: Connection, scope: str, since: int | None) -> int:
    """Delete what a model summarised from a message on; return how many summaries went."""
    if since is None:
        return 0
    at = episodes.c
    of_it = (at.scope == scope, at.last_seq >= since)
    first = connection.execute(
        select(at.first_seq).where(*of_it, ~at.plain).order_by(at.seq).limit(1)
    ).scalar()
    if first is None:
        return 0
    back = update(pointers).where(pointers.c.layer == "episodes", pointers.c.scope == scope)
    read = {"seq": max(first - 1, 0), "failures": 0}
    connection.execute(back.where(pointers.c.seq >= first).values(read))
    later = delete(episodes).where(at.scope == scope, at.first_seq >= first)
    return connection.execute(later).rowcount
