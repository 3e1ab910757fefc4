"""The key terms of a sentence: words that must not get lost when sentences become one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from contract.looks import normalized

_EDGES = "\"'“”‘’„«»`.,;:!?…()[]{}<>*"
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]{1,1000})”|«([^»\n]{1,1000})»|`([^`\n]+)`")
_EXACT = re.compile(r"\d|[/\\_=+#@$%€£^~|&]|\w[.:]\w|[^\W\d_]*[a-z][A-Z]|\b[A-Z]{2,}\b")
_RUN_ON = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
# Words that a sentence can lose without claiming less. Negations, times, and what makes a wish of
# a duty ("not", "before", "should") are none.
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """
        a an the and is are was were be been being am has have had having do does did
        of to in on at for by with as that this these those it its which who whom whose
        he him his she her they them their we us our you your i my me there here
        also too very said says say stated states mentioned mentions noted notes told
        """,
    )
)
_NEGATIONS = frozenset(
    re.findall(r"\w+", "not no never none neither nor without cannot nobody nothing")
)
_SUFFIXES = ("ing", "ed", "es", "s")


def normalised(text: str) -> str:
    """The text but for case, white space and marks that say nothing: equal for near duplicates."""
    words = normalized("NFKC", text).split()
    kept = (word.strip(_EDGES.replace("?", "")) for word in words)
    return " ".join(word if _EXACT.search(word) else word.casefold() for word in kept if word)


def exact(text: str) -> frozenset[str]:
    """Numbers, dates, paths, code and what is quoted: to the letter."""
    plain = normalized("NFKC", text)
    quoted = (" ".join(next(filter(None, match)).split()) for match in _QUOTED.findall(plain))
    words = (word.strip(_EDGES) for word in plain.split())
    return frozenset(quoted) | {word for word in words if _EXACT.search(word)}


def words(text: str) -> frozenset[str]:
    """The words that mean something, by their stems; names among them."""
    plain = normalized("NFKC", text).replace("’", "'")
    found = (word for part in plain.split() for word in re.split(r"[-–—]", part.strip(_EDGES)))
    lowered = (word.strip(_EDGES).casefold() for word in found if not _EXACT.search(word))
    spoken = (part for word in lowered for part in _spelled_out(word))
    return frozenset(_stem(word) for word in spoken if word and word not in _EMPTY)


def claims(text: str) -> frozenset[str]:
    """Every key term of a text."""
    return exact(text) | words(text)


def _spelled_out(word: str) -> tuple[str, ...]:
    if word.endswith("n't"):
        return (word.removesuffix("n't"), "not")
    return (word.removesuffix("'s").removesuffix("s'"),)


def _stem(word: str) -> str:
    """Without a verb's or a plural's ending. Crude on purpose: who is unlike stays unlike."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(suffix)
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def lost(old: Iterable[str], new: str) -> frozenset[str]:
    """The key terms of the old sentences that the new one lacks."""
    told_exactly, told = exact(new), words(new)
    plain = " ".join(normalized("NFKC", new).split())
    missing: set[str] = set()
    for text in old:
        missing |= {
            claim for claim in exact(text) - told_exactly if " " not in claim or claim not in plain
        }
        missing |= {word for word in words(text) - told if not _runs_on(word, plain)}
    return frozenset(missing)


def _runs_on(word: str, text: str) -> bool:
    """True for a term of a script without spaces that stands somewhere in the text."""
    return _RUN_ON.search(word) is not None and word in text.casefold()


def invented(old: Iterable[str], new: str) -> frozenset[str]:
    """Numbers, names of code, and negations of the new sentence that none of the old ones has."""
    given = list(old)
    known = frozenset[str]().union(*map(exact, given))
    said = frozenset[str]().union(*map(words, given))
    plain = " ".join(" ".join(given).split())
    strange = {claim for claim in exact(new) - known if claim not in plain}
    return frozenset(strange | ((words(new) & _NEGATIONS) - said))
