"""The part of a text that tells what it is about: no grammar, no asking, no small talk.

By the words of ten languages (`small_words`). A word's language is told by its script; among those
of Latin letters, by the rest of the text. English small talk is understood in all of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import regex

from contract.values import dataclass
from memory.recall.small_words import SMALL_WORDS
from memory.recall.words import TOKEN, WORD_CHARS, fold, indexed, pairs, run_words, stem

_Lists = tuple[str, ...]
_EVERY: _Lists = ("grammar", "asking", "chat")
_WITHOUT_CHAT: _Lists = ("grammar", "asking")
_WITH_CHANGE: _Lists = (*_EVERY, "change")
LATIN = ("en", "de", "es", "fr")
_SCRIPTS = {  # the first that a word has letters of
    "ru": regex.compile(r"\p{Cyrillic}"),
    "ar": regex.compile(r"\p{Arabic}"),
    "ko": regex.compile(r"\p{Hangul}"),
    "th": regex.compile(r"\p{Thai}"),
}
_KANA = regex.compile(r"[\p{Katakana}\p{Hiragana}]")
_QUESTION_MARK = regex.compile(r"[?？؟]")
_INFLECTION = {  # what stands between the words of a run, beside the small words
    "ja": r"|(?<!\p{Hiragana})\p{Hiragana}{1,2}(?!\p{Hiragana})",
    "ko": r"|(?<=..)(?:했어요|했습니다|합니다|입니다|습니다|이에요|예요|어요|아요|해요|나요|인가요"
    r"|까요|네요|군요|지요|죠|하는|하고|에서|에게|에는|으로|부터|까지|처럼|이나|은|는|이|가|을|를|의"
    r"|에|도|와|과|로|만|님)+\Z",
}


@dataclass(frozen=True, slots=True)
class Telling:
    """words: about how many there are in all. terms: what those that tell something are indexed by,
    and about how many words each is. asks: it is a question."""

    words: float
    terms: Mapping[str, float]
    asks: bool

    @property
    def telling(self) -> float:
        """About how many words tell something."""
        return sum(self.terms.values())

    @property
    def is_idle(self) -> bool:
        """True for a prompt that nothing could be remembered for: it is small talk, or bids to go
        on with what is under way."""
        bids = not self.asks and self.telling < 2 and self.words >= self.telling + 1
        return not self.telling or bids


@dataclass(frozen=True, slots=True)
class _SmallWords:
    """A language's. asking: those of them that ask."""

    every: frozenset[str]
    asking: frozenset[str]


@dataclass(frozen=True, slots=True)
class _SmallPieces:
    """The same where no blanks are between words."""

    every: regex.Pattern[str]
    asking: frozenset[str]


def telling(text: str) -> Telling:
    """Read a text. The words of small talk tell something in a question that has no others."""
    folded = indexed(text)
    read = _read(folded, text, _EVERY)
    return _read(folded, text, _WITHOUT_CHAT) if read.asks and not read.telling else read


def subject(text: str) -> Mapping[str, float]:
    """The terms of what a statement is about, and about how many words each is: what it tells, but
    that something changed."""
    return _read(fold(text), text, _WITH_CHANGE).terms


def _read(folded: str, text: str, lists: _Lists) -> Telling:
    tokens = list(TOKEN.finditer(folded))
    latin = _latin([word for match in tokens if (word := match["word"])])
    unspaced = "ja" if _KANA.search(folded) else "zh"
    every = 0.0
    found: dict[str, float] = {}
    asks = _QUESTION_MARK.search(text) is not None
    for match in tokens:
        if word := match["word"]:
            count, rest, asked = _word(word, _language(word, latin), lists)
        else:
            count, rest, asked = _run(match["run"], _language(match["run"], unspaced), lists)
        every += count
        found |= rest
        asks = asks or asked
    return Telling(every, found, asks)


def _word(word: str, language: str, lists: _Lists) -> tuple[float, dict[str, float], bool]:
    """How many words it is; its terms and about how many words these are, if it tells something;
    and whether it asks."""
    small = _small_words(language, lists)
    return 1, {} if word in small.every else {stem(word[:WORD_CHARS]): 1.0}, word in small.asking


def _run(run: str, language: str, lists: _Lists) -> tuple[float, dict[str, float], bool]:
    """The same of a run of characters."""
    small = _small_pieces(language, lists)
    rest: dict[str, float] = {}
    for piece in small.every.split(run):
        terms = list(pairs(piece)) if len(piece) > 1 or language == "zh" else []
        rest |= dict.fromkeys(terms, run_words(piece) / max(len(terms), 1))
    return run_words(run), rest, not small.asking.isdisjoint(small.every.findall(run))


def _language(token: str, other: str) -> str:
    if token.isascii():
        return other
    return next((name for name, script in _SCRIPTS.items() if script.search(token)), other)


def _latin(words: Sequence[str]) -> str:
    """The language that most of the words belong to; English in doubt."""
    return max(LATIN, key=lambda name: sum(word in _own(name) for word in words))


@cache
def _own(language: str) -> frozenset[str]:
    return frozenset(_folded(language, *_EVERY))


@cache
def _small_words(language: str, lists: _Lists) -> _SmallWords:
    every = {word for name in {language, "en"} for word in _folded(name, *lists)}
    return _SmallWords(frozenset(every), frozenset(_folded(language, "asking")))


@cache
def _small_pieces(language: str, lists: _Lists) -> _SmallPieces:
    return _SmallPieces(
        regex.compile(_any_of(_folded(language, *lists)) + _INFLECTION.get(language, "")),
        frozenset(_folded(language, "asking")),
    )


def _any_of(pieces: Sequence[str]) -> str:
    return "|".join(map(regex.escape, sorted(pieces, key=len, reverse=True)))


def _folded(language: str, *lists: str) -> list[str]:
    return [word for name in lists for word in fold(SMALL_WORDS[name][language]).split()]
