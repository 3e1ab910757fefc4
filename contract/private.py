"""`<private>...</private>`: the parts of a text that stay in the live transcript alone.

In doubt a text is private: the tag may have white space, attributes, any case, a slip of the
fingers, letters and brackets that only look like its own, or brackets written as entities. One that
is never closed goes to the end of the message; one that was never opened began with it, as where
somebody parted a private text over two messages. Square and other brackets are ordinary signs: they
make a tag where one closes it, square ones at the beginning of a line, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from itertools import accumulate
from typing import Literal
from unicodedata import category

from contract.looks import look, one_look
from contract.values import dataclass

PrivateParts = Literal["part", "open", "all"]
"""A message's: it has some; the last of them is not closed; it is one as a whole, because it stands
between others of its author's."""

OPEN = timedelta(minutes=5)
"""So long what an author says in the same thread belongs to a private part that is not closed."""

# Brackets as they look, and how they are folded. An ampersand may begin an entity.
_ANGLES = {
    **dict.fromkeys("<﹤＜‹〈〈⟨《«≪⟪❮❰˂ᐸ❬⧼", "<"),
    **dict.fromkeys(">﹥＞›〉〉⟩》»≫⟫❯❱˃ᐳ❭⧽", ">"),
}
_OTHERS = {
    **dict.fromkeys("[［【〔", "["),
    **dict.fromkeys("]］】〕", "]"),
    **dict.fromkeys("(（", "("),
    **dict.fromkeys(")）", ")"),
    **dict.fromkeys("{｛", "{"),
    **dict.fromkeys("}｝", "}"),
}
_OPENING = "".join(
    re.escape(sign) for sign, look_ in (_ANGLES | _OTHERS).items() if look_ in "<[({"
)
_BRACKETED = re.compile(
    rf"(?:[{_OPENING}]|&)(?=[\W_]{{0,12}}(?:p|end|close|[^\x00-\x7f]|&|[lg]t|[#a-z0-9]{{1,8}};))",
    re.IGNORECASE,
)
may_be_private = _BRACKETED.search
"""The beginning of a tag in a text that may have one, at no cost for most that have none."""

_PIECE = re.compile(
    r"&(?:amp;)*(?:(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,6});|[lg]t)|.", re.IGNORECASE | re.DOTALL
)
_BETWEEN = r"[\s*_~`.·-]{0,3}"  # letters that are spaced out, or emphasised
_SPELLED = _BETWEEN.join(("p", "r", "[l!|]", "v", "[a@4]", "[t7]", "[e3]"))
_PLAIN = "prlvate"  # as it is folded
_SLIPS = {
    *(_PLAIN[:i] + _PLAIN[i + 1 :] for i in range(1, 7)),  # a letter is missing
    *(_PLAIN[:i] + _PLAIN[i] + _PLAIN[i:] for i in range(7)),  # or was struck twice
    *(
        _PLAIN[:i] + _PLAIN[i + 1] + _PLAIN[i] + _PLAIN[i + 2 :] for i in range(6)
    ),  # or they changed
    *("prlve", "prlvato", "prlvado", "prlvata", "prlvada", "prlvates"),  # as others write it
}
_TAG = re.compile(
    rf"""(?P<bracket>[<[({{])[\s*_~`"'!-]{{0,8}}
    (?P<closes>[\\/]?[/|]|\\|end\s|close\s)?[\s*_~`"'-]{{0,8}}
    (?:{_SPELLED}|{"|".join(sorted(_SLIPS, key=len, reverse=True))})
    (?![^\W_])(?![_.:,@|/\\-]+\w)  # <private-key>, <private.h>
    (?!\s*(?:&&|[|+]|[?;](?!\s*>)))  # <private|public>, a < private && b
    (?P<rest>(?P<bare>[\s.:,;!*_~`"'/\\-]{{0,8}}[]>)}}])|[^<>]{{0,200}}?>|)""",
    re.VERBOSE,
)
_CODE = re.compile(r"^(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_STANDS_ALONE = re.compile(r"\s+\w|\s*\Z")
_LOOKED_AT = 200  # signs before a tag and behind it
_UNSEEN = frozenset({"Cf", "Mn", "Me"})


class _Folded(dict[str, str]):
    """A character, or an entity, as it looks: letters in lower case, one of those that look alike,
    brackets, blanks; nothing for what can't be seen."""

    def __missing__(self, piece: str) -> str:
        sign = piece
        while len(sign) > 1 and (plain := unescape(sign)) != sign:
            sign = plain
        if len(sign) > 1:
            seen = sign
        elif sign in _ANGLES or sign in _OTHERS:
            seen = _ANGLES.get(sign) or _OTHERS[sign]
        elif sign.isspace():
            seen = "\n" if sign == "\n" else " "
        elif sign == "|":
            seen = sign
        else:
            seen = "".join(one for one in one_look(look(sign)) if category(one) not in _UNSEEN)
        return self.setdefault(piece, "" if sign in _FILLERS else seen)


_FILLERS = "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u2800"  # letters that nobody sees
_FOLDED = _Folded()


@dataclass(frozen=True, slots=True)
class PrivatePart:
    """Where it stands, tags included, and where its text does. open: it was never closed."""

    start: int
    end: int
    inner: int
    inner_end: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    closes: bool
    sure: bool  # it needs no other tag to be one


def private_parts(text: str) -> list[PrivatePart]:
    """The private parts of a text in their order, none within another."""
    found: list[PrivatePart] = []
    for part in _parts(text, _tags(text)):
        if not part.start:
            found.clear()
        found.append(part)
    return found


def _parts(text: str, tags: list[_Tag]) -> Iterator[PrivatePart]:
    """The same at each closing; what was never opened goes back to the beginning."""
    depth = start = inner = 0
    for tag in tags:
        if not tag.closes:
            if depth == 0:
                start, inner = tag.start, tag.end
            depth += 1
        elif depth < 2:
            yield PrivatePart(start if depth else 0, tag.end, inner if depth else 0, tag.start)
            depth = 0
        else:
            depth -= 1
    if depth:
        yield PrivatePart(start, len(text), inner, len(text), open=True)


def _tags(text: str) -> list[_Tag]:
    """The tags of a text in their order."""
    if may_be_private(text) is None:
        return []
    pieces = _PIECE.findall(text) if "&" in text else list(text)
    folded = [_FOLDED[piece] for piece in pieces]
    seen = "".join(folded)
    matches = list(_TAG.finditer(seen))
    if not matches:
        return []
    places = [0, *accumulate(map(len, pieces))]
    number = [i for i, part in enumerate(folded) for _ in part]  # of the piece that a sign is of
    code = [match.span() for match in _CODE.finditer(seen)]
    tags = [
        _Tag(
            places[number[match.start()]],
            places[number[match.end() - 1] + 1],
            match["closes"] is not None,
            _is_sure(seen, match, code),
        )
        for match in matches
        if _is_tag(seen, match)
    ]
    last = max((i for i, tag in enumerate(tags) if tag.closes), default=-1)
    return [tag for i, tag in enumerate(tags) if tag.sure or i < last]


def _is_tag(seen: str, match: re.Match[str]) -> bool:
    """False for what only begins like one: an attribute needs angle brackets, and so does a tag
    whose own bracket is missing, which stands between blanks."""
    if match["bare"]:
        return True
    if match["bracket"] != "<":
        return False
    if match["rest"]:
        return True
    return match[0].startswith("<p") and _STANDS_ALONE.match(seen, match.end()) is not None


def _is_sure(seen: str, match: re.Match[str], code: list[tuple[int, int]]) -> bool:
    """True for a tag that means something without one that closes it."""
    if match["closes"]:
        return True
    start, end = match.span()
    before, after = seen[max(start - _LOOKED_AT, 0) : start], seen[end : end + _LOOKED_AT]
    quoted = before.endswith("`") and after.startswith("`")
    if match["bracket"] == "<":
        return not quoted and re.search(r"[a-z0-9_]\Z", before, re.ASCII) is None
    line = before.rpartition("\n")[2].strip(" *_~-")
    begins = not line or re.fullmatch(r"(?:@\S+[ ,:]*|<@[^>]*>[ ,:]*)+", line) is not None
    in_code = any(first <= start < last for first, last in code)
    said = re.match(r"[(:[]", after) is None and bool(after.strip())
    return match["bracket"] in "[{" and begins and said and not in_code and not quoted


def private_spans(text: str) -> list[str]:
    """The texts of the private parts of a text."""
    found = (text[part.inner : part.inner_end].strip() for part in private_parts(text))
    return [span for span in found if span]


def has_private(text: str) -> bool:
    """True if a text has a private part."""
    return bool(private_parts(text))


def kind_of_private(*texts: str) -> PrivateParts | None:
    """The kind of private parts of a message's texts; the first is what it says now."""
    kinds = [private_parts(text) for text in texts]
    if kinds[0] and kinds[0][-1].open:
        return "open"
    return "part" if any(kinds) else None
