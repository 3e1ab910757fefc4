"""Terms: what a text is indexed by and what a question looks for.

A term is a folded and stemmed word (`token`), a pair of neighbouring characters in scripts that
put no blanks between words, or a mark: `@p:andi` the entry is Andi's, `@t` its text speaks of a
time, `@c` of a change, `@n` has a name. No word of a text begins with `@`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import regex
import Stemmer  # type: ignore[import-not-found,unused-ignore]  # C, without type hints

from contract.looks import normalized
from memory.recall.small_words import CHANGE, GRAMMAR

INDEXED_CHARS = 20_000  # of a longer text the beginning is indexed; a fact is a sentence or two
WORD_CHARS = 64  # what is longer is no word, and is cut

TIMED = "@t"
CHANGED = "@c"
PERSON = "@p:"
NAMING = "@n"

# Those of other languages are cheap by their frequency alone.
STOP = frozenset(GRAMMAR["en"].split())

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
TOKEN = regex.compile(
    rf"(?P<run>[{_UNSPACED}ー][{_UNSPACED}ー\p{{M}}]*)"
    rf"|(?P<word>[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}ー]]+)",
    regex.V1,
)
# Accents of Latin, Greek and Cyrillic letters; й is a letter of its own.
_MARKS = regex.compile(r"(?<!и)[\u0300-\u036f]+|(?<=и)[\u0300-\u0305\u0307-\u036f]+")
_HAN, _HANGUL, _LETTER = (regex.compile(rf"\p{{{one}}}") for one in ("Han", "Hangul", "L"))
# The characters of a word: others are kana, Thai ...
HAN_CHARS, HANGUL_CHARS, OTHER_CHARS = 5 / 4, 2, 15 / 4

MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_TIME_WORD = regex.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year|day|night"
    rf"|recently|since|soon|{'|'.join(WEEKDAYS)}|{'|'.join(m for m in MONTHS if m != 'may')}"
    r"|summer|winter|spring|fall|autumn|morning|evening|19\d\d|20\d\d|\d+(?:st|nd|rd|th))s?\b"
)

_NAME = regex.compile(r"(?<=[\p{Ll},] )\p{Lu}\p{Ll}+")  # a capital within a sentence


def fold(text: str) -> str:
    """Lower case, without accents, compatible forms made one: what looks the same is the same."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", normalized("NFKD", text.casefold()))
    return normalized("NFC", plain).replace("’", "'")


def indexed(text: str) -> str:
    """As much of a text, folded, as is looked at: one sign may be folded into eighteen."""
    return fold(text[:INDEXED_CHARS])[:INDEXED_CHARS]


_UNSPACED_LANGUAGES = ("zh", "ja", "ko", "th")
_CHANGE_WORD = regex.compile(
    "|".join(
        rf"(?:{words})" if language in _UNSPACED_LANGUAGES else rf"\b(?:{words})\b"
        for language, listed in CHANGE.items()
        for words in ("|".join(fold(listed).split()),)
    )
)


def changes(text: str) -> bool:
    """True if a text may say that something is not any more as it was."""
    return _CHANGE_WORD.search(indexed(text)) is not None


def terms(text: str) -> list[str]:
    """The terms of a text in their order, small words left out."""
    return list(folded_terms(indexed(text)))


def run_words(run: str) -> float:
    """About how many words a run is, in scripts without blanks between them: so many characters are
    taken for one as its words have on average."""
    han, hangul = len(_HAN.findall(run)), len(_HANGUL.findall(run))
    others = len(_LETTER.findall(run)) - han - hangul
    return han / HAN_CHARS + hangul / HANGUL_CHARS + others / OTHER_CHARS


def person_marks(name: str) -> list[str]:
    """`@p:` marks of a display name, one for each of its words."""
    return [f"{PERSON}{term}" for term in dict.fromkeys(folded_terms(fold(name[:200])))]


def entry_terms(text: str, person: str) -> list[str]:
    """All that one entry is indexed by: its terms, then its marks."""
    folded = indexed(text)
    marks = person_marks(person)
    if _TIME_WORD.search(folded):
        marks.append(TIMED)
    if _CHANGE_WORD.search(folded):
        marks.append(CHANGED)
    if _NAME.search(text[:INDEXED_CHARS]):
        marks.append(NAMING)
    return [*folded_terms(folded), *marks]


def folded_terms(folded: str) -> Iterator[str]:
    """The same of a text that is folded already."""
    for match in TOKEN.finditer(folded):
        if word := match["word"]:
            if word not in STOP:
                yield stem(word[:WORD_CHARS])
        else:
            yield from pairs(match["run"])


def pairs(run: str) -> Iterator[str]:
    """The terms of a run of characters: pairs of neighbours; and a Han character alone, for it may
    be a word."""
    for first, second in pairwise(run):
        yield first + second
    yield from (char for char in run if len(run) == 1 or _HAN.match(char))


# They hold the interpreter's lock while they work.
_stemmers = {
    name: (regex.compile(rf"\p{{{script}}}"), Stemmer.Stemmer(name, 0))
    for script, name in (("Cyrillic", "russian"), ("Arabic", "arabic"), ("Greek", "greek"))
}
_english = Stemmer.Stemmer("english", 0)

# A question says "did you buy", and its answer "I bought". The first of each is how they are told.
_IRREGULAR = """
go went gone/buy bought/make made/eat ate eaten/drink drank drunk/see saw seen/take took taken
give gave given/come came/know knew known/think thought/tell told/say said/find found/leave left
feel felt/meet met/begin began begun/write wrote written/run ran/speak spoke spoken/teach taught
catch caught/bring brought/fight fought/seek sought/sell sold/send sent/spend spent/lend lent
build built/lose lost/win won/sleep slept/keep kept/wear wore worn/break broke broken
choose chose chosen/drive drove driven/ride rode ridden/rise rose risen/fly flew flown
grow grew grown/throw threw thrown/draw drew drawn/show shown/sing sang sung/swim swam swum/sit sat
stand stood/understand understood/hold held/hear heard/pay paid/lay laid/fall fell fallen
forget forgot forgotten/forgive forgave forgiven/hide hid hidden/bite bit bitten/shake shook shaken
steal stole stolen/wake woke woken/freeze froze frozen/become became/hang hung/stick stuck
strike struck/shoot shot/lead led/feed fed/mean meant/deal dealt/dream dreamt/learn learnt
burn burnt/bend bent/swear swore sworn/tear tore torn/sink sank sunk/blow blew blown/slide slid
child children/man men/woman women/person people/foot feet/tooth teeth/mouse mice/wife wives
"""
_BASE = {
    form: base
    for base, *forms in map(str.split, regex.split(r"[/\n]", _IRREGULAR.strip()))
    for form in forms
}


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Snowball's stem by the word's script; in Latin letters that of English, which mostly leaves
    words of other languages as they are."""
    if not word.isascii():
        for script, stemmer in _stemmers.values():
            if script.search(word):
                return str(stemmer.stemWord(word))
    return str(_english.stemWord(_BASE.get(word, word)))
