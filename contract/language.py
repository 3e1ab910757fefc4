"""The language in which Moot speaks to people, and the words of each.

The English text is its own key. A text is put into words where it is made, in the language of
whoever is being answered: intake, a turn and a request of the page say which one that is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from contract.values import dataclass

Language = Literal["en", "de", "es", "ja", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
ENGLISH: Language = "en"
NAMES: dict[Language, str] = {
    "en": "English",
    "de": "Deutsch",
    "es": "Español",
    "ja": "日本語",
    "zh": "简体中文",
}
CATALOGS = Path(__file__).with_name("languages")

_current: ContextVar[Language] = ContextVar("language", default=ENGLISH)


def current() -> Language:
    """The language of what is being said now."""
    return _current.get()


def speak(language: Language) -> None:
    """Speak it from now on, in this task and in those that it begins."""
    _current.set(language)


@contextmanager
def speaking(language: Language | None) -> Iterator[None]:
    """Speak it inside the block; None: the language of now."""
    token = _current.set(language or current())
    try:
        yield
    finally:
        _current.reset(token)


def phrase(english: str) -> str:
    """Mark a text that stands where nobody is being answered yet: `say` puts it into words."""
    return english


def say(english: str, /, **values: object) -> str:
    """A text in the language of now, with `{name}` filled in."""
    text = _catalog(_current.get()).get(english, english)
    return text.format_map(values) if values else text


def say_count(n: int, one: str, many: str, /, **values: object) -> str:
    """The same for a number of things: `say_count(3, "{n} fact", "{n} facts")`."""
    return say(one if n == 1 else many, **{"n": n, **values})


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text with what fills it in, which is put into words where it is read, so in the language
    of whoever reads it. values: may be phrases themselves."""

    english: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return say(self.english, **self.values)

    @property
    def in_english(self) -> str:
        """As it stands in a log."""
        with speaking(ENGLISH):
            return str(self)


def as_phrase(text: str | Phrase) -> Phrase:
    """A text as it is, or one of the catalogs."""
    return text if isinstance(text, Phrase) else Phrase(text)


def later(english: str, /, **values: object) -> Phrase:
    """A text for somebody whose language is not known here: of a failure, or a program's remedy."""
    return Phrase(english, values)


def known(tag: str) -> Language | None:
    """The language of a tag such as `de-CH`; None: Moot doesn't speak it."""
    code = tag.strip().lower().partition("-")[0]
    return next((one for one in LANGUAGES if one == code), None)


def accepted(header: str) -> Language | None:
    """The best of an Accept-Language header; None: none that Moot speaks."""
    tags = [part.partition(";") for part in header.split(",")]
    ranked = sorted(tags, key=lambda tag: -_quality(tag[2]))
    return next((found for tag, _, _ in ranked if (found := known(tag))), None)


def _quality(parameter: str) -> float:
    try:
        return float(parameter.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0


@cache
def _catalog(language: Language) -> Mapping[str, str]:
    if language == ENGLISH:
        return {}
    found: dict[str, str] = json.loads((CATALOGS / f"{language}.json").read_text(encoding="utf-8"))
    return found
