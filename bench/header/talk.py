"""Rooms in which people talk, made up from a seed: what is said, and what is asked about it.

The sentences of a language are a file of `languages/`: people, small talk among them (`chatter`),
news that nobody asks for (`noise`), prompts that ask for nothing (`idle`), and topics. A topic has
subjects (as a statement names it, as a question does, and in other words), values, statements
(`say`), questions that share words with these (`ask`) or don't (`other`), and, where its facts
change, statements of the change.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

LANGUAGES = Path(__file__).parent / "languages"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
A_TOPIC = (2, 3)  # facts of it in a room by turns: those of one topic are nearly alike
CHANGED = 0.5  # of the facts that can change
IN_OTHER_WORDS = 0.15  # of the questions
SINCE = 45  # messages after the last fact: a window shows 40 as they are
IDLE = 5  # prompts that ask for nothing, a room


@dataclass(frozen=True, slots=True)
class Said:
    """A message among people, by its number in the room. moment: how long before now."""

    number: int
    by: str
    text: str
    before: timedelta


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt. kind: its topic, or "idle" for one that asks for nothing. answer: the number of the
    message that answers it; older: of one that it took the place of."""

    kind: str
    text: str
    in_other_words: bool = False
    answer: int | None = None
    older: int | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """A room. living: all is asked in one session; else each question begins a new one."""

    language: str
    name: str
    living: bool
    said: Sequence[Said]
    questions: Sequence[Question]

    @property
    def room(self) -> str:
        """Its id."""
        return f"web:{self.name}"


@dataclass(slots=True)
class _Fact:
    kind: str
    topic: dict[str, Any]
    subject: Sequence[str]
    lines: list[tuple[str, str]] = field(default_factory=list)  # who says it, and what
    numbers: list[int] = field(default_factory=list)


def languages() -> list[str]:
    """The languages that there are sentences of."""
    return sorted(path.stem for path in LANGUAGES.glob("*.toml"))


def talk(language: str, number: int, seed: int) -> Talk:
    """A room of a language. The same seed makes the same room."""
    chance = random.Random(f"{seed} {language} {number}")
    words = tomllib.loads((LANGUAGES / f"{language}.toml").read_text("utf-8"))
    count = A_TOPIC[number % len(A_TOPIC)]
    facts = [
        fact
        for kind, topic in words.items()
        if isinstance(topic, dict)
        for fact in _facts(kind, topic, count, words["people"], chance)
    ]
    said = _conversation(facts, words, chance)
    spread = timedelta(days=40) if number % 2 else timedelta(minutes=20)
    moments = sorted((chance.random() for _ in said), reverse=True)
    messages = [
        Said(at, by, text, spread * moment)
        for at, ((by, text), moment) in enumerate(zip(said, moments, strict=True))
    ]
    questions = [_question(fact, chance) for fact in facts]
    idle = chance.sample(words["idle"], IDLE)
    questions += [Question("idle", text) for text in idle]
    chance.shuffle(questions)
    name = f"{language}-{seed}-{number}"
    return Talk(language, name, number % 2 == 0, messages, questions)


def _facts(
    kind: str, topic: dict[str, Any], count: int, people: Sequence[str], chance: random.Random
) -> list[_Fact]:
    subjects = chance.sample(topic["subjects"], count)
    values = chance.sample(topic["values"], len(topic["values"]))
    made = []
    for subject in subjects:
        fact = _Fact(kind, topic, subject)
        first = values.pop()
        fact.lines.append(
            (chance.choice(people), chance.choice(topic["say"]).format(s=subject[0], v=first))
        )
        if values and "change" in topic and chance.random() < CHANGED:
            change = chance.choice(topic["change"])
            text = change.format(s=subject[0], old=first, v=values.pop())
            fact.lines.append((chance.choice(people), text))
        made.append(fact)
    return made


def _conversation(
    facts: Sequence[_Fact], words: dict[str, Any], chance: random.Random
) -> list[tuple[str, str]]:
    """All that is said, in its order; the facts note the numbers of their lines."""
    rest = [_small(words, chance) for _ in range(len(facts) * 3)]
    slots = [fact for fact in facts for _ in fact.lines] + [None] * len(rest)
    chance.shuffle(slots)
    said: list[tuple[str, str]] = []
    for slot in slots:
        if slot is None:
            said.append(rest.pop())
        else:
            said.append(slot.lines[len(slot.numbers)])
            slot.numbers.append(len(said) - 1)
    last = _news(words, chance)  # one that is remembered, to be waited for
    return [*said, *(_small(words, chance) for _ in range(SINCE)), last]


def _small(words: dict[str, Any], chance: random.Random) -> tuple[str, str]:
    return _filled("chatter", words, chance) if chance.random() < 0.5 else _news(words, chance)


def _news(words: dict[str, Any], chance: random.Random) -> tuple[str, str]:
    """News that nobody asks for."""
    return _filled("noise", words, chance)


def _filled(kind: str, words: dict[str, Any], chance: random.Random) -> tuple[str, str]:
    text = chance.choice(words[kind])
    by, who = chance.sample(words["people"], 2)
    return by, text.format(n=chance.randint(3, 29), who=who, day=chance.choice(DAYS))


def _question(fact: _Fact, chance: random.Random) -> Question:
    strange = chance.random() < IN_OTHER_WORDS
    text = chance.choice(fact.topic["other" if strange else "ask"])
    _, named, described = fact.subject
    text = text.format(q=named, o=described, by=fact.lines[-1][0])
    older = fact.numbers[-2] if len(fact.numbers) > 1 else None
    return Question(fact.kind, text, strange, fact.numbers[-1], older)
