"""Nobody forges a line: what people, models and third parties wrote, made safe to quote.

Every text goes through `body` (several lines), `flat` (one line) or `label` (a name within a
line) before it enters a header. All are idempotent; the stored text is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from unicodedata import category

import regex

from composer.cuts import border_before
from composer.headings import HEADINGS
from contract.looks import BARS, CLOSING, OPENING, SIGNS, look, normalized, one_look, without_marks
from contract.storable import whole

LABEL_CHARS = 64

# ── Cleaning ────────────────────────────────────────────────────────────────────────────

_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

# ECMA-48, in 7 and 8 bits. A string that its line doesn't end is no whole sequence: only its
# introducer goes, so that an unclosed one hides nobody's words.
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x80-\x9f\n]*(?:\x07|\x1b\\\\|\x9c)"  # OSC
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f\n]*(?:\x1b\\\\|\x9c)"  # DCS SOS PM APC
    "|(?:\x1b[NO]|[\x8e\x8f])[ -~]?"  # SS2 SS3
    "|\x1b[ -/]*[0-~]"
)
_SEQUENCE_PASSES = 8  # removing one may close another; deeper nests lose their ESC just below

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Bidi controls, zero-width and otherwise invisible characters: Default_Ignorable_Code_Point
# and the format characters without a shape of their own. Unicode 17.
_INVISIBLE_CLASS = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_INVISIBLE_CLASS}]")
_PICTURE = r"\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?"
_EMOJI_OR_INVISIBLE = regex.compile(
    r"([0-9#*]\ufe0f\u20e3"  # keycap
    r"|\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # flag of a region
    rf"|{_PICTURE}(?:\u200d{_PICTURE})*)"
    rf"|[{_INVISIBLE_CLASS}]+"
)
_DIRT = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_INVISIBLE_CLASS}]")


def clean(text: str) -> str:
    """Only line feeds, tabs and what can be seen; joiners and selectors stay within emoji."""
    if not _DIRT.search(text):
        return text
    text = _BREAK.sub("\n", whole(text))
    for _ in range(_SEQUENCE_PASSES):
        text, found = _SEQUENCE.subn("", text)
        if not found:
            break
    text = _CONTROL.sub("", text)
    if _INVISIBLE.search(text):
        text = _EMOJI_OR_INVISIBLE.sub(lambda match: match[1] or "", text)
    return text


# ── Lines that would pass for ours ──────────────────────────────────────────────────────

_BRACKET = re.compile(f"[{re.escape(OPENING)}]")
# Bullets, quotes, emphasis, blanks: also letters that look like such signs.
_LEAD = re.compile(
    rf"\s*(?:\(?(?:\d{{1,4}}(?:\.\d{{1,3}})*[.)]?|[A-Za-z][.)])\s)?"
    rf"(?:\[[xX]\]|[^\w\n]|[_{re.escape(SIGNS)}])*"
)
_LOOKED_AT = 16  # what stands behind so many words in brackets is no heading
_HEAD_CHARS = 256
_NAMES = tuple(one_look(look(name)).replace(" ", "") for name in HEADINGS)
_SPELLED = [name for name in _NAMES if len(name) > 4]  # a shorter one is soon another word
_ALSO = {"3": "e", "4": "a", "5": "s", "7": "t", "$": "s", "@": "a", "[": "l"}
_JOINED_LINES = 3  # that a heading may be broken over, behind its first
_BROKEN_OFF = 3  # letters and digits before the break
_BEGINNING = re.compile(r"\[(?!(?:[^\w\[]|_)*\[)")  # the bracket next to the words
_TIME = re.compile(
    r"(?:\d[lio]?\s*[:.]\s*[\dlio]{2}|[lio]\s*[:.]\s*(?:\d[\dlio]|[lio]\d)|\d\s*h\s*\d\d)(l?)"
)
# A letter that stands alone is one, also beside a stroke that elides nothing.
_BAR = re.compile(r"\||(?<!\w)(?<!\w')l(?!'?\w)")
_ATTACHMENT = re.compile(r"\W*attachment\W*:")


def escape(text: str) -> str:
    """A backslash before the bracket of each line that begins like a heading or a speaker.

    Stricter than equality of skeletons: bullets and quotes before the bracket, signs and marks
    within the name, and look-alikes don't help. `[attachment:` counts as well.
    """
    if not _BRACKET.search(text):
        return text
    rows = text.split("\n")
    for number, row in enumerate(rows):
        lead = _LEAD.match(row)
        end = lead.end() if lead else 0
        if places := [found.start() for found in _BRACKET.finditer(row, 0, end)]:
            rows[number] = _escape_line(row, places, rows[number + 1 : number + 1 + _JOINED_LINES])
    return "\n".join(rows)


def _escape_line(line: str, places: Sequence[int], later: Iterable[str]) -> str:
    """The line, with a backslash before those brackets at `places` that begin like our own."""
    # Every bracket of the line is one of what it looks like, and nothing else is.
    looked, before, number, forged = without_marks(look(line)), 0, 0, []
    for found in islice(_BEGINNING.finditer(looked), _LOOKED_AT):
        number, before = number + looked.count("[", before, found.start()), found.start()
        if number >= len(places):
            break
        head, closed, _ = looked[found.end() : found.end() + _HEAD_CHARS].partition("]")
        place = places[number]
        if line[place - 1 : place] == "\\":
            continue
        rest = "" if closed else _going_on(head, later)
        said = f"{line[place + 1 : place + _HEAD_CHARS]} {rest}"
        if _forges(head, rest) or _spells_section(said):
            forged.append(place)
    for place in reversed(forged):
        line = f"{line[:place]}\\{line[place:]}"
    return line


def _going_on(head: str, later: Iterable[str]) -> str:
    """The lines that a bracket's words may go on in. head: all of its own line."""
    if sum(map(str.isalnum, head)) < _BROKEN_OFF:
        return ""
    return " ".join(line[:_HEAD_CHARS] for line in later)


def _forges(head: str, rest: str) -> bool:
    """True if what a bracket holds begins like our own. head: what it looks like; rest: the lines
    behind it, where it isn't closed."""
    said = _letters(head)
    if said.startswith(_NAMES) or _ATTACHMENT.match("".join(head.split())):
        return True
    time = _TIME.search(head)
    if time and rest and not head[time.end() :].strip():
        return _BAR.match(without_marks(look(rest))) is not None
    if time and (time[1] or _BAR.search(head, time.end())):
        return True
    if not rest or not any(name.startswith(said) for name in _NAMES):
        return False
    more = _letters(without_marks(look(rest)).partition("]")[0])
    return f"{said}{more}".startswith(_NAMES)


def _letters(looked: str) -> str:
    return "".join(filter(str.isalnum, one_look(looked)))


def _spells_section(text: str) -> bool:
    """True if a text reads as a section's name to whoever guesses its letters.

    Most of them have to be there. Another one may be any sign that isn't ASCII's, whatever it
    looks like, or a digit that is drawn like it.
    """
    alive, count = dict.fromkeys(_SPELLED, 0), 0  # how many letters of each are there
    for sign in text:
        seen = _look_of(sign)
        if seen == "]":
            break
        if not seen.isalnum() and seen not in _ALSO:
            continue
        for name, same in tuple(alive.items()):
            if name[count] in (seen, _ALSO.get(seen)):
                alive[name] = same = same + 1
            elif sign.isascii():
                del alive[name]
                continue
            if count + 1 == len(name):
                if same * 2 > len(name):
                    return True
                del alive[name]
        if not alive:
            break
        count += 1
    return False


@lru_cache(maxsize=4096)
def _look_of(sign: str) -> str:
    """What one sign looks like: one of ASCII's, nothing, or a letter of no known look."""
    seen = one_look(without_marks(look(sign)))
    if (len(seen) == 1 and seen.isascii()) or category(sign)[0] in "MPZC":
        return seen
    return "\u3042" * bool(seen)


# ── Ready to quote ──────────────────────────────────────────────────────────────────────


def flat(text: str) -> str:
    """One line: cleaned, white space collapsed, escaped. The caller cuts it to its cap."""
    return escape(" ".join(clean(text).split()))


def lines(text: str) -> str:
    """Cleaned and without blank edges; neither escaped nor indented yet, so that it can be cut."""
    return clean(text).strip("\n").rstrip()


def indent(text: str) -> str:
    """Escaped; each line but the first is indented by two spaces, blank ones too."""
    return escape(text).replace("\n", "\n  ")


_LABEL_SIGNS = str.maketrans(
    {
        **dict.fromkeys(OPENING, "("),
        **dict.fromkeys(CLOSING, ")"),
        **dict.fromkeys(BARS, "/"),
    }
)


@lru_cache(maxsize=4096)
def label(text: str, cap: int = LABEL_CHARS) -> str:
    """A name within one of our lines: NFC, no bracket or bar that could end it; may be empty."""
    name = normalized("NFC", " ".join(clean(text).split())).translate(_LABEL_SIGNS)
    if all(sign == "\u2800" or category(sign)[0] in "MZC" for sign in name):
        return ""  # nothing to be seen; U+2800 is a Braille pattern without dots
    return name[: border_before(name, cap)].rstrip()
