"""Compares the words on a screen with those of the program's record. Pure.

Words alone are compared: Markdown's syntax, wraps, borders and the numbers of lists are nobody's
words. A screen may show only the end of a long reply, and may leave out what its program says that
it left out; neither is a disagreement. What our reader never saw is one.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256

MOST_CHARS = 15_000  # of either text, 8 ms to compare; longer ones are not judged

_FENCE = re.compile(r"^[ >]*(?:```+|~~~+)[\w+#.-]{0,20} *$", re.MULTILINE)
_BEFORE = r"^[ >|]*(?:(?:[-*+•]|#{1,6}) +)?"
_NUMBERS = (  # of lists; then those of code as well, which may be words of a line instead
    re.compile(_BEFORE + r"(?:\d{1,4}|[a-z])[.)] +(?=\S)", re.MULTILINE),
    re.compile(_BEFORE + r"(?:\d{1,4}[.)]?|[a-z][.)]) +(?=\S)", re.MULTILINE),
)
_TASK = re.compile(r"^[ >]*[-*+] +\[[ xX]\] +", re.MULTILINE)
_BREAK = re.compile(r"<br ?/?>")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\(([^)\s]*)[^)\n]*\)")
_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"^…$", re.MULTILINE)  # our own: rows that were on no frame
_CUT = re.compile(r"…|\.\.\.|ctrl\+\w to (?:expand|see)")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The number of words of the record that the screen lacks, and the other way round.

    digest: of the record's text, to find it by. Nothing of either text is in it.
    """

    lost: int
    added: int
    words: int
    digest: str


def find_mismatch(recorded: str, shown: str, *, cut: bool = False) -> Mismatch | None:
    """The words that the screen shows otherwise; None when both agree, or when nobody can tell.

    cut: the screen keeps no scrollback, so that its top may be in the middle of anything; then
    only words that the record has not are a disagreement.
    """
    if max(len(recorded), len(shown)) > MOST_CHARS or not recorded.strip() or not shown.strip():
        return None
    shown = _GAP.sub("", shown)
    if len(_CUT.findall(shown)) > len(_CUT.findall(recorded)):
        return None
    versions = [
        (_words(_LINK.sub(form, recorded), numbers), _words(shown, numbers))
        for numbers in _NUMBERS
        for form in (r"\1 \2", r"\1")
    ]
    if any("".join(words).endswith("".join(seen)) for words, seen in versions):
        return None
    lost, added = min((_missing(words, seen) for words, seen in versions), key=sum)
    if cut and not added:
        return None
    digest = sha256(recorded.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Mismatch(lost, added, len(versions[1][0]), digest)


def _words(text: str, numbers: re.Pattern[str]) -> list[str]:
    """Runs of letters and digits: what survives any rendering. x² is x2, as formulas are."""
    plain = unicodedata.normalize("NFKC", html.unescape(text))
    for syntax in (_FENCE, _TASK, numbers, _BREAK):
        plain = syntax.sub("", plain)
    return _WORD.findall(plain)


def _missing(recorded: list[str], seen: list[str]) -> tuple[int, int]:
    """The number of words that the second lacks, and of those that the first lacks."""
    one, other = Counter(recorded), Counter(seen)
    return (one - other).total(), (other - one).total()
