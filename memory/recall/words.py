"""Terms: what a text is indexed by and what a question looks for.

A term is a folded and stemmed word (`token`), a pair of neighbouring characters in scripts that
put no blanks between words, or a mark: `@p:andi` the entry is Andi's, `@t` its text speaks of a
time. No word of a text begins with `@`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import regex
import Stemmer  # type: ignore[import-not-found,unused-ignore]  # C, without type hints

INDEXED_CHARS = 20_000  # of a longer text the beginning is indexed; a fact is a sentence or two
WORD_CHARS = 64  # what is longer is no word, and is cut

TIMED = "@t"

# Small words of English: of grammar, of asking, and of chat. Those of other languages are cheap
# by their frequency alone.
_SMALL_WORDS = """
a about above after again all am an and any are as at be because been before being below
between both but by can could did do does doing down during each few for from further had has
have having he her here hers herself him himself his how i if in into is it its itself just
let me more most my myself no nor not now of off on once only or other our ours ourselves out
over own same she should so some such than that the their theirs them themselves then there
these they this those through to too under until up us very was we were what when where which
while who whom whose why will with would you your yours yourself yourselves
s t d ll m re ve don didn doesn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn
ain im ive id also get got getting really yeah yes oh wow hey hi hello thanks thank well okay
ok like might may must shall please sure
"""
STOP = frozenset(_SMALL_WORDS.split())

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = regex.compile(
    rf"(?P<run>[{_UNSPACED}ー][{_UNSPACED}ー\p{{M}}]*)"
    rf"|(?P<word>[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}ー]]+)",
    regex.V1,
)
_MARKS = regex.compile(r"[\u0300-\u036f]+")  # accents of Latin, Greek and Cyrillic letters
_HAN, _HANGUL, _LETTER = (regex.compile(rf"\p{{{one}}}") for one in ("Han", "Hangul", "L"))
# The characters of a word: others are kana, Thai ...
HAN_CHARS, HANGUL_CHARS, OTHER_CHARS = 5 / 4, 2, 15 / 4

_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_TIME_WORD = regex.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year|day|night"
    rf"|recently|since|soon|{'|'.join(_WEEKDAYS)}|{'|'.join(m for m in _MONTHS if m != 'may')}"
    r"|summer|winter|spring|fall|autumn|morning|evening|19\d\d|20\d\d|\d+(?:st|nd|rd|th))s?\b"
)
_ASKS_WHEN = regex.compile(
    r"\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year|week)"
    r"|how long|how many (?:days|weeks|months|years)|since)\b"
)


DatePart = Literal["year", "month", "day"]


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A question, read: all that a search looks for.

    terms: of its text, each once, in their order. dates: the years, months and days of the month
    that it names. when: it asks for a time. days: the first and the last day of a time named by
    its distance, like "last week".
    """

    terms: tuple[str, ...]
    dates: tuple[tuple[DatePart, int], ...] = ()
    when: bool = False
    days: tuple[date, date] | None = None


def fold(text: str) -> str:
    """Lower case, without accents, compatible forms made one: what looks the same is the same."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", plain).replace("’", "'")


def terms(text: str) -> list[str]:
    """The terms of a text in their order, small words left out."""
    return list(_terms(fold(text[:INDEXED_CHARS])))


def word_count(text: str) -> tuple[float, float]:
    """About how many words a text has, and how many of them are more than small words.

    They are those that it is indexed by; where a script puts no blanks between words, so many
    characters are taken for one as its words have on average.
    """
    every = telling = 0.0
    for match in _TOKEN.finditer(fold(text[:INDEXED_CHARS])):
        if word := match["word"]:
            every += 1
            telling += word not in STOP
        else:
            run = match["run"]
            han, hangul = len(_HAN.findall(run)), len(_HANGUL.findall(run))
            others = len(_LETTER.findall(run)) - han - hangul
            length = han / HAN_CHARS + hangul / HANGUL_CHARS + others / OTHER_CHARS
            every += length
            telling += length
    return every, telling


def person_marks(name: str) -> list[str]:
    """`@p:` marks of a display name, one for each of its words."""
    return [f"@p:{term}" for term in dict.fromkeys(_terms(fold(name[:200])))]


def entry_terms(text: str, person: str) -> list[str]:
    """All that one entry is indexed by: its terms, then its marks."""
    folded = fold(text[:INDEXED_CHARS])
    marks = person_marks(person)
    if _TIME_WORD.search(folded):
        marks.append(TIMED)
    return [*_terms(folded), *marks]


def question(text: str, now: datetime) -> SearchQuestion:
    """Read a question asked at `now`."""
    folded = fold(text[:INDEXED_CHARS])
    return SearchQuestion(
        terms=tuple(dict.fromkeys(_terms(folded))),
        dates=tuple(_dates(folded)),
        when=_ASKS_WHEN.search(folded) is not None,
        days=_days(folded, now.date()),
    )


def _terms(folded: str) -> Iterator[str]:
    for match in _TOKEN.finditer(folded):
        if word := match["word"]:
            if word not in STOP:
                yield stem(word[:WORD_CHARS])
        else:
            yield from _pairs(match["run"])


def _pairs(run: str) -> Iterator[str]:
    """Pairs of neighbouring characters; a Han character alone too, for it may be a word."""
    for first, second in pairwise(run):
        yield first + second
    yield from (char for char in run if len(run) == 1 or _HAN.match(char))


_stemmer = Stemmer.Stemmer("english", 0)  # holds the interpreter's lock while it works


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Snowball's English stem; words of other languages mostly stay as they are."""
    return str(_stemmer.stemWord(word))


# ── Times ───────────────────────────────────────────────────────────────────────────────

_ISO = regex.compile(r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b")
_YEAR = regex.compile(r"\b(?:19|20)\d\d\b")
_MONTH = regex.compile(rf"\b(?:{'|'.join(m for m in _MONTHS if m != 'may')})\b")
# "may" is a month only beside a number or after a preposition.
_MAY = regex.compile(
    r"\b(?:in|of|since|during|until|by|last|next|this|early|late|mid|\d{1,2}(?:st|nd|rd|th)?) may\b"
    r"|\bmay,? \d"
)
_DAY = regex.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(_MONTHS)})\b"
    rf"|\b(?:{'|'.join(_MONTHS)}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b"
)


def _dates(folded: str) -> list[tuple[DatePart, int]]:
    found: list[tuple[DatePart, int]] = [("year", int(year)) for year in _YEAR.findall(folded)]
    found += [("month", _MONTHS.index(month) + 1) for month in _MONTH.findall(folded)]
    if _MAY.search(folded):
        found.append(("month", 5))
    found += [("day", int(match["d"])) for match in _DAY.finditer(folded)]
    for iso in _ISO.finditer(folded):
        found.append(("month", int(iso["m"])))
        if iso["d"]:
            found.append(("day", int(iso["d"])))
    return list(dict.fromkeys(found))


_AGO = regex.compile(
    r"\b(?P<n>\d{1,3}|a|an|one|two|three|four) (?P<unit>day|week|month|year)s? ago\b"
)
_PERIOD = regex.compile(r"\b(?P<which>last|this|past) (?P<unit>week|weekend|month|year)\b")
_LAST_DAY = regex.compile(rf"\b(?:last|on|this) (?P<day>{'|'.join(_WEEKDAYS)})\b")
_SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_LENGTH = {"day": 1, "week": 7, "month": 30, "year": 365}


def _days(folded: str, today: date) -> tuple[date, date] | None:
    """The days that a distance from today names, a little wide: people are not exact."""
    if "yesterday" in folded:
        return today - timedelta(1), today - timedelta(1)
    if regex.search(r"\b(?:today|this morning)\b", folded):
        return today, today
    if match := _AGO.search(folded):
        length = _LENGTH[match["unit"]]
        amount = _SMALL.get(match["n"]) or int(match["n"])
        day = today - timedelta(min(amount * length, 40_000))
        return day - timedelta(length // 3), day + timedelta(length // 3)
    if match := _PERIOD.search(folded):
        return _period(match["which"], match["unit"], today)
    if match := _LAST_DAY.search(folded):
        back = (today.weekday() - _WEEKDAYS.index(match["day"])) % 7 or 7
        return today - timedelta(back), today - timedelta(back)
    return None


def _period(which: str, unit: str, today: date) -> tuple[date, date]:
    monday = today - timedelta(today.weekday())
    if unit in ("week", "weekend"):
        first = monday if which == "this" else monday - timedelta(7)
        return (first + timedelta(5) if unit == "weekend" else first), first + timedelta(6)
    if unit == "month":
        first = today.replace(day=1)
        if which != "this":
            first = (first - timedelta(1)).replace(day=1)
        return first, (first + timedelta(31)).replace(day=1) - timedelta(1)
    year = today.year if which == "this" else today.year - 1
    return date(year, 1, 1), date(year, 12, 31)
