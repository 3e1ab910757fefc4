"""Makes harmless what Rocket.Chat's parser would misread in the author's own text. Pure.

A backslash where the parser takes one, outside of spans; else a zero-width space.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from bots.markdown.writer import ZERO_WIDTH, Bit, Style, quiet

MARKS: Mapping[Style, str] = {"strong": "*", "emphasis": "_", "strike": "~"}
MARK = re.compile(r"[*_~`]")

# What stands as it is: mentions, channels, names of emoji, addresses, timestamps.
_SHORTCODE = r"(?<![0-9A-Za-z:]):[0-9A-Za-z_+.-]+:(?![0-9A-Za-z:])"
_TOKEN = re.compile(
    rf"{_SHORTCODE}|(?<![\w@])@[\w][\w.@:-]*|(?<!\S)#[\w.-]*[\w]|<t:[\w:.+-]+>"
    r"|(?<!\S)[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
)
_SPOILER = re.compile(r"\|\|")
_KATEX = re.compile(r"\\(?=[(\[])")
# The parser makes emoji of these where they stand alone, and has no escape for them.
_EMOTICON = re.compile(
    r"(?<![^\s*_~`])(?:[:;]'?[\^-]?[()DPXLObÞ*@#$/\\.\]\[]|[:=;]'?-?[)(DPXLOb*/\\#$\]]|'[:=]-?[)(D]"
    r"|[O0][:;=][\^-]?[)3]|>[:;=]?-?[)(\[PO\\/]|>\.<|<3|</3|[BX8#%*][-]?[)DP]|D:|-_{1,3}-|O_O"
    r"|\(y\)|\*?\\[0O]/\*?)(?=[\s*_~`@#<\[\\]|$|\w[\w-]*\.\w)"
)
_REFERENCE = re.compile(r"<(?=[^\s|<>]*\|[^<>]*>)|\](?=\()")
_ESCAPES = re.compile(r"\\(?=[*_~`#.])")
_START = re.compile(r"^(?:[-*](?=[ \t])|>|(?=[ \t]*-{3,}[ \t]*$)|\|(?=.*\|$))")
_BLOCK = re.compile(r"#(?=#{0,3}[ \t])|\d+\.(?=[ \t])")
_NAME = re.compile(r"[A-Za-z0-9]+(?:__?[A-Za-z0-9]+)*_{0,2}")
_NAME_SIGNS = re.compile(r"[A-Za-z0-9_]+")
_WORD = re.compile(r"\S+")
_DOT = re.compile(
    r"(?<=[^\s.,!%~*\"':;()=$@&+#?\\/|><`\[\]])\.(?=[^\s.,!%~*\"':;()=$@&+#?\\/|><`\[\]]|$)"
)
# A text without these has nothing to be misread.
_SIGN = re.compile(r"[*_~`|:;=%()<>\[\]\\.#@+\-\d]")


# Emoticons of which one sign is a mark or a backslash: `*)`, `:*`, `:\`.
_WINK = re.compile(r"-?\)(?:\s|$|\*)")
_KISS = re.compile(r"(?:^|[\s*_~`])[:=][\^-]?$")
_SKEWED = re.compile(r":$|(?:^|[\s>*_~`])=$")


def winks(before: str, mark: str, after: str, *, opens: bool) -> bool:
    """True if a mark and what stands outside of it would be taken for an emoticon."""
    if "*" in mark:
        return bool(before[-1:] == ":" or _KISS.search(before) if opens else _WINK.match(after))
    return "_" in mark and before[-1:] == "-" and after.startswith("-")


def kisses(before: str, mark: str) -> bool:
    """True if a text and the mark that closes it would be taken for an emoticon."""
    return "*" in mark and bool(_KISS.search(before))


def straight(bits: Iterable[Bit]) -> Iterator[Bit]:
    """The bits of a line, each backslash read as an escape: behind a colon it would be none."""
    before = ""
    for bit in bits:
        if bit.role == "escaped" and MARK.match(bit.text, 1) and _SKEWED.search(before):
            yield Bit(ZERO_WIDTH, "escaped")
        yield bit
        before = (before + bit.text)[-3:]


def joined(bits: Iterable[Bit]) -> Iterator[Bit]:
    """The bits of a line, the author's words in one where they have the same styles."""
    for (role, styles), group in groupby(bits, lambda bit: (bit.role, bit.styles)):
        if role == "text":
            yield Bit("".join(bit.text for bit in group), styles=styles)
        else:
            yield from group


def unquoted(bit: Bit) -> Bit:
    if bit.role != "text" or "@" not in bit.text:
        return bit
    return replace(bit, text=quiet(bit.text))


_WORDED = ("text", "code", "formula", "link")


def counted(bits: list[Bit]) -> dict[str, int]:
    """The number of each mark in a line: the author's own, and those of the styles twice."""
    formulas = any(bit.role == "formula" for bit in bits)  # behind one a mark may reach further
    counts = {
        mark: formulas + sum(bit.text.count(mark) for bit in bits if bit.role in _WORDED)
        for mark in "*_~`"
    }
    for style, mark in MARKS.items():
        counts[mark] += 2 * any(style in bit.styles for bit in bits)
    counts["||"] = sum(bit.text.count("||") for bit in bits if bit.role == "text")
    return counts


def literal(bits: list[Bit], place: int, counts: dict[str, int]) -> Iterator[Bit]:
    """The author's own text at this place of a line, its tokens as they are."""
    bit = _behind_a_star(bits, place)
    if not _SIGN.search(bit.text):
        yield bit
        return
    after = bits[place + 1 : place + 2]
    followed = any(other.styles or other.role != "text" for other in after)
    behind = any("emphasis" in other.styles for other in bits[max(place - 1, 0) : place])
    start = "line" if place == 0 and not bit.styles else "mark" if behind else ""
    end = 0
    for token in _TOKEN.finditer(bit.text):
        words = replace(bit, text=bit.text[end : token.start()])
        yield from _signs(words, counts, start=start, followed=False)
        crossed = token[0][0] == ":" or ("_" in token[0] and "emphasis" in bit.styles)
        yield Bit(token[0], "token", () if crossed else bit.styles)
        end, start = token.end(), ""
    yield from _signs(replace(bit, text=bit.text[end:]), counts, start=start, followed=followed)


def _behind_a_star(bits: list[Bit], place: int) -> Bit:
    """The bit at this place, its first sign no emoticon's with the star that begins bold there."""
    bit = bits[place]
    bolder = "strong" in bit.styles and not (place and "strong" in bits[place - 1].styles)
    winks_now = bolder and _WINK.match(bit.text)
    return replace(bit, text=ZERO_WIDTH + bit.text) if winks_now else bit


def harmless(bit: Bit) -> Bit:
    """A bit of a label without calls to all. Emoticons there are none but in a style."""
    text = quiet(bit.text)
    return replace(bit, text=_unsmiling(text) if bit.styles else text)


def _unsmiling(text: str) -> str:
    return _EMOTICON.sub(lambda sign: sign[0][:-1] + ZERO_WIDTH + sign[0][-1], text)


def _signs(bit: Bit, counts: dict[str, int], *, start: str, followed: bool) -> Iterator[Bit]:
    """start: what the text begins, a "line", or stands behind, a "mark"; followed: by a mark."""
    text = _KATEX.sub("\\\\" + ZERO_WIDTH, _unsmiling(bit.text))
    text = _REFERENCE.sub(lambda sign: sign[0] + ZERO_WIDTH, text)
    text = text.replace("||", f"|{ZERO_WIDTH}|") if counts["||"] > 1 else text
    text = _START.sub(lambda sign: ZERO_WIDTH + sign[0], text) if start == "line" else text
    text = _ESCAPES.sub("\\\\" + ZERO_WIDTH, text)
    text += ZERO_WIDTH if followed and text.endswith("\\") else ""
    end = 0
    for spot in _misread(replace(bit, text=text), counts, start=start, followed=followed):
        yield replace(bit, text=text[end:spot])
        yield Bit("\\" + text[spot], "escaped")
        end = spot + 1
    yield replace(bit, text=text[end:])


def _misread(bit: Bit, counts: dict[str, int], *, start: str, followed: bool) -> list[int]:
    """The offsets of the signs that need a backslash."""
    text = bit.text
    spots = {mark.start() for mark in MARK.finditer(text) if counts[mark[0]] > 1 and mark[0] != "_"}
    if counts["_"] > 1:
        spots.update(
            at for word in _NAME_SIGNS.finditer(text) for at in _underlines(bit, word, start)
        )
    if start == "line" and (block := _BLOCK.match(text)):
        spots.add(block.end() - 1)
    if not bit.styles and "." in text:
        spots |= _dots(text, spots, followed=followed)
    return sorted(spots)


def _dots(text: str, spots: set[int], *, followed: bool) -> set[int]:
    """The dots that make a domain of a word, from which on no mark is read up to the next blank."""
    dots: set[int] = set()
    marks = sorted(spots)
    for word in _WORD.finditer(text):
        last = followed and word.end() == len(text)
        if last or bisect_left(marks, word.start()) < bisect_left(marks, word.end()):
            dots |= {dot.start() for dot in _DOT.finditer(text, *word.span())}
    return dots


def _underlines(bit: Bit, word: re.Match[str], line_start: str) -> Iterator[int]:
    """The underscores of a word but those within a name in snake case, which are no marks."""
    before = bit.text[word.start() - 1 : word.start()]
    name = _NAME.match(word[0])
    free = before in ("", " ", "\t") or (not bit.styles and before in "([:!<)]|")
    if "emphasis" in bit.styles or "strike" in bit.styles or (not before and line_start == "mark"):
        free = False
    end = name.end() if name and free else 0
    for at, sign in enumerate(word[0]):
        inside = 0 < at < end and (not bit.styles or word[0][at + 1 : at + 2].isalnum())
        if sign == "_" and not inside:
            yield word.start() + at


def encoded_url(url: str) -> str:
    url = url.replace(" ", "%20").replace("|", "%7C").replace("\\", "%5C")
    if re.search(r"\([^()]*\(", url) or url.count("(") != url.count(")"):
        url = url.replace("(", "%28").replace(")", "%29")
    return url
