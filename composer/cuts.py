"""Shortening text without tearing a grapheme. Lengths are in characters (code points)."""

from __future__ import annotations

import re

import regex

_GRAPHEME = regex.compile(r"\X")
_PLAIN = re.compile(
    "[\t\n -~\u00c0-\u02ff\u0370-\u0481\u048a-\u052f\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]{2}"
)  # between two of these lies always a grapheme's border

_FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")  # flags are pairs of these

ELLIPSIS = "…"
GRAPHEME_CHARS = 256


def cut_end(text: str, cap: int) -> str:
    """At most `cap` characters; an ellipsis stands for what was cut off."""
    if len(text) <= cap:
        return text
    if cap < 1:
        return ""
    head = text[: border_before(text, cap - 1)].rstrip()
    return head + ELLIPSIS if head else ""


def cut_words(text: str, cap: int) -> str:
    """The same of one line, between two words where there is a blank near the end."""
    cut = cut_end(text, cap)
    if cut == text:
        return text
    head = cut.removesuffix(ELLIPSIS)
    if text[len(head) : len(head) + 1].isspace():
        return cut
    whole = head.rpartition(" ")[0].rstrip()
    return whole + ELLIPSIS if len(whole) >= cap // 2 else cut


def cut_middle(text: str, cap: int) -> tuple[str, int]:
    """At most `cap` characters, and how many were left out.

    The first 60 % and the last 30 % of the cap stay; a line between them says what is missing.
    """
    if len(text) <= cap:
        return text, 0
    room = cap - len(_marker(len(text)))
    if room < 2:
        short = cut_end(text, cap)
        return short, len(text) - len(short.removesuffix(ELLIPSIS))
    head_chars = min(cap * 60 // 100, room * 2 // 3)
    tail_chars = min(cap * 30 // 100, room - head_chars)
    head = border_before(text, head_chars)
    tail = border_after(text, len(text) - tail_chars)
    return text[:head] + _marker(tail - head) + text[tail:], tail - head


def _marker(left_out: int) -> str:
    return f"\n[… {left_out} characters left out …]\n"


def border_before(text: str, at: int) -> int:
    """The last border between two graphemes that is not behind `at`."""
    if at >= len(text):
        return len(text)
    border = _sure_border(text, at)
    for grapheme in _GRAPHEME.finditer(text, border):
        if grapheme.end() > at:
            break
        border = grapheme.end()
    return border


def border_after(text: str, at: int) -> int:
    """The first border between two graphemes that is not before `at`."""
    if at <= 0:
        return 0
    border = _sure_border(text, min(at, len(text)))
    for grapheme in _GRAPHEME.finditer(text, border):
        if border >= at:
            break
        border = grapheme.end()
    return border


def _sure_border(text: str, at: int) -> int:
    """A border at or before `at`, without reading the text from its beginning.

    Nobody sees a grapheme of hundreds of characters: one of those may be torn.
    """
    far = max(at - GRAPHEME_CHARS, 0)
    for border in range(at, far, -1):
        if _PLAIN.match(text, border - 1):
            return border
    run = far
    while run > 0 and _FLAG_LETTER.match(text, run - 1):
        run -= 1
    return far - (far - run) % 2
