"""By what a text can be told to speak of a person: ids, mentions and names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from store.schema import facts, landmarks, messages


@dataclass(frozen=True)
class Identity:
    """ids: sender ids. mentions: what tags them on their platforms. called: their names."""

    ids: frozenset[str]
    mentions: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    _name: re.Pattern[str] | None = field(init=False, default=None, repr=False, compare=False)
    _id: re.Pattern[str] | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        externals = {one.partition(":")[2] for one in self.ids}
        externals = {one for one in externals if any(map(str.isdecimal, one))}  # else it is a word
        exact = self.ids | self.mentions
        object.__setattr__(self, "_id", _pattern(exact))
        object.__setattr__(self, "_name", _pattern(exact | externals | self.called))

    def identifies(self, text: str) -> bool:
        """Whether their id or mention stands in it."""
        return self._id is not None and self._id.search(_plain(text)) is not None

    def names(self, text: str) -> bool:
        """Whether anything stands in it that means them, their name included."""
        return self._name is not None and self._name.search(_plain(text)) is not None

    def nameless(self, text: str, mark: str, borne: frozenset[str] = frozenset()) -> str:
        """The text with `mark` for each of their names and mentions, but for names that others
        bear."""
        words = sorted((self.called - borne) | self.mentions, key=len, reverse=True)
        loose = (r"\s+".join(map(re.escape, word.split())) for word in words)
        found = "|".join(rf"(?<!\w){word}(?!\w)" for word in loose if word)
        return re.sub(found, mark, text) if found else text


def _pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """Any of the words, not as a part of a longer one."""
    found = sorted({_plain(word).strip() for word in words} - {""}, key=len, reverse=True)
    if not found:
        return None
    return re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in found))


_BRACKETS = str.maketrans("[]|", "()/")  # as a label shows them


def _plain(text: str) -> str:
    """As a label shows it, whatever its case and white space."""
    normal = unicodedata.normalize("NFC", text).translate(_BRACKETS)
    return " ".join(normal.casefold().split())


def identity_of(connection: Connection, ids: frozenset[str]) -> Identity:
    """What is known of a person by their messages, and by facts and landmarks."""
    at = messages.c
    called: set[str] = set()
    mentions: set[str] = set()
    spoke = select(at.sender_name, at.mention).where(at.sender_id.in_(ids)).distinct()
    for name, mention in connection.execute(spoke):
        called.add(name)
        mentions.add(mention or "")
    for column, whose in (
        (facts.c.person_name, facts.c.person),
        (landmarks.c.by_name, landmarks.c.by_id),
    ):
        query = select(column).where(whose.in_(ids)).distinct()
        called |= {name or "" for name in connection.execute(query).scalars()}
    return Identity(ids, frozenset(mentions - {""}), frozenset(called - {""}))
