"""markdown-it set up for chat: which rules it follows, which in another way, and what it learns.

It learns formulas, and that signs between words are no emphasis: `2*3*4`, `x**2`, `__init__`.
"""

from __future__ import annotations

import re
from typing import Any, cast

from markdown_it import MarkdownIt, helpers
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.rules_inline import StateInline

# Nested deeper than this, text is kept as text: the parser recurses once per level.
MAX_NESTING = 40
# After so many brackets that nothing closes, a text's other brackets are text: each costs a search.
MAX_UNCLOSED = 200
_UNCLOSED = "unclosed"
# A quote is sought to the end of its paragraph, also where what it holds ends before. After so many
# quotes another one has so many lines at most, and the next one goes on with it.
MAX_LONG_QUOTES, MAX_QUOTED_LINES = 50, 50
_QUOTES = "quotes"

URL = re.compile(r"https?://[^\s<>`\u3000-\u303f\uff00-\uffef]+", re.IGNORECASE)
_URL_END = ".,:;!?'\"*_~"
_CELL = re.compile(r"(?<!\\)\|")


def _inside(opener: str) -> str:
    r"""What may stand between a formula's brackets. opener: the first one's pattern.

    It is not in there again, or a text of openers would be searched to its end from each of them;
    but LaTeX ends a line with `\\`, and a bracket may follow, some times.
    """
    sign = rf"(?:[^\\\n]|\\[^\\{opener}\n]|\\\\(?!{opener}))"
    return rf"(?:{sign}*?\\\\{opener}){{0,20}}?{sign}*?"


# A formula as LaTeX and the models set it off. Brackets and `$$` stand around other things, too: a
# source `\[1\]`, a price, a process's number. What has no sign of a formula is none.
IN_BRACKETS = _inside(r"\(")
_IN_SQUARE = _inside(r"\[")
FORMULA = re.compile(
    rf"\\\((?P<inline>{IN_BRACKETS})\\\)"
    rf"|\\\[(?P<bracketed>{_IN_SQUARE})\\\](?![(\[])"
    r"|(?<!\$)\$\$(?P<dollars>[^\n$]+)\$\$(?!\$)"
)
_FORMULA_SIGN = re.compile(r"[\^_=+<>{}|*/\u0370-\u03ff\u2190-\u22ff]|\\[A-Za-z,;]")
_MARKDOWNS_ESCAPE = re.compile(r"(?<!\\)\\[.*_#+()\[~`<>=-]")
_TERM = re.compile(r"\s*[A-Za-z0-9.,'()-]+\s*")
_INTERRUPTED = ["paragraph", "reference", "blockquote", "list"]
_CLOSERS = {"\\[": "\\]", "$$": "$$"}

# Signs with a letter or a digit on both sides; of two stars one side is a digit.
BETWEEN = re.compile(
    r"(?<=[A-Za-z0-9])\*(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])\*\*(?=\d)|(?<=\d)\*\*(?=[A-Za-z])"
)
PRODUCT = re.compile(r"(?<=\d)\*{1,2}(?=\d)")
DUNDER = re.compile(
    r"(?<![\w*])__(?:init|main|name|file|all|dict|doc|call|new|repr|str|eq|hash|len|iter|next|enter"
    r"|exit|getattr|setattr|getitem|setitem|class|slots|version|pycache)__(?!\w)"
    r"|(?<![\w*])__[a-z][a-z0-9]*(?:_[a-z0-9]+)*__(?=[.]\w|[(/\[])"
    r"|(?<=[.'\"/])__[a-z][a-z0-9]*(?:_[a-z0-9]+)*__(?!\w)"
)
_STAR = ord("*")


class _Helpers:
    """The library's, but that a text of nothing but opening brackets is not searched from each."""

    parseLinkDestination = staticmethod(helpers.parseLinkDestination)  # noqa: N815
    parseLinkTitle = staticmethod(helpers.parseLinkTitle)  # noqa: N815

    @staticmethod
    def parseLinkLabel(state: StateInline, start: int, disableNested: bool = False) -> int:  # noqa: N802, N803
        """The end of the label that begins at start; -1: none."""
        unclosed = state.env.get(_UNCLOSED, 0)
        if unclosed >= MAX_UNCLOSED:
            return -1
        end = helpers.parseLinkLabel(state, start, disableNested)
        if end < 0:
            state.env[_UNCLOSED] = unclosed + 1
        return end


class _Markdown(MarkdownIt):
    """Leaves URLs as they were written instead of percent-encoding them."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


def _newline(state: StateInline, silent: bool) -> bool:
    """A line break that keeps the next line's indent. Blanks before it are not seen anyway."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("softbreak", "br", 0)
    state.pos += 1
    return True


def _bare_url(state: StateInline, silent: bool) -> bool:
    """An URL in running text: its `_` and `*` are no emphasis."""
    if silent or state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = next((s for s in ("https", "http") if state.pending.lower().endswith(s)), None)
    if scheme is None or not (found := URL.match(state.src, state.pos - len(scheme))):
        return False
    url = url_without_tail(found[0])
    if len(url) <= len(scheme) + len("://"):
        return False
    state.pending = state.pending[: -len(scheme)]
    token = state.push("link_open", "a", 1)
    token.attrs, token.markup = {"href": url}, "bare"
    state.push("text", "", 0).content = url
    state.push("link_close", "a", -1).markup = "bare"
    state.pos += len(url) - len(scheme)
    return True


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's, but that many quotes are not each sought to the text's end."""
    if not silent:
        state.env[_QUOTES] = quotes = state.env.get(_QUOTES, 0) + 1
        if quotes > MAX_LONG_QUOTES:
            end = min(end, start + MAX_QUOTED_LINES)
    return blockquote(state, start, end, silent)


def _formula(state: StateInline, silent: bool) -> bool:
    """A formula within a line."""
    if silent or not (found := FORMULA.match(state.src, state.pos)):
        return False
    if not has_formula(found):
        return False
    kind = str(found.lastgroup)
    token = state.push("formula", "math", 0)
    token.content, token.markup = found[kind].strip(), found[0]
    state.pos = found.end()
    return True


def _formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A formula on lines of its own, up to the first blank one."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    closer = _CLOSERS.get(first[:2])
    if closer is None or state.is_code_block(start):
        return False
    for line in range(start, end):
        if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return False
        words = state.src[state.bMarks[line] : state.eMarks[line]].rstrip()
        if closer in (first[2:] if line == start else words):
            break
        if line > start and words.lstrip().startswith(first[:2]):
            return False  # another one begins: no search from each of many to the text's end
    else:
        return False
    source = state.getLines(start, line + 1, state.blkIndent, False).strip()
    if not source.endswith(closer) or not is_formula(formula := source[2:-2]):
        return False
    if not silent:
        token = state.push("formula_block", "math", 0)
        token.content, token.markup, token.map = formula.strip(), source, [start, line + 1]
        state.line = line + 1
    return True


def has_formula(found: re.Match[str]) -> bool:
    """True if a formula stands between the signs that were found."""
    bracketed = found["bracketed"] or found["dollars"]
    inline = found["inline"] or ""
    return is_formula(bracketed or inline) or bool(_TERM.fullmatch(inline))


def is_formula(text: str) -> bool:
    """True if a text between such signs is one; a Markdown escape in it says that it is prose."""
    return bool(_FORMULA_SIGN.search(text)) and not _MARKDOWNS_ESCAPE.search(text)


def _sign(state: StateInline, silent: bool) -> bool:
    """A sign that is the author's own: it neither begins emphasis nor ends one that stands open."""
    if silent:
        return False
    found = DUNDER.match(state.src, state.pos)
    if not found:
        found = BETWEEN.match(state.src, state.pos)
        if not found or (not PRODUCT.match(state.src, state.pos) and _stars_open(state)):
            return False
    state.pending += found[0]
    state.pos = found.end()
    return True


def _stars_open(state: StateInline) -> bool:
    depth = 0
    for sign in state.delimiters:
        if sign.marker == _STAR:
            depth += -1 if sign.close and depth else int(sign.open)
    return depth > 0


def url_without_tail(url: str) -> str:
    """The URL without the punctuation of the sentence that it stands in."""
    while url:
        opener = {")": "(", "]": "["}.get(url[-1])
        if not (url[-1] in _URL_END or (opener and url.count(opener) < url.count(url[-1]))):
            break
        url = url[:-1]
    return url


def cells_of(line: str) -> list[str]:
    """The raw cells of a table's row."""
    row = line.strip().removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(row)]


def _markdown() -> MarkdownIt:
    markdown = _Markdown("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    markdown.helpers = cast(Any, _Helpers)
    markdown.enable(["table", "strikethrough"])
    markdown.disable(["entity", "html_block", "html_inline"])
    markdown.inline.ruler.at("newline", _newline)
    markdown.inline.ruler.before("newline", "bare_url", _bare_url)
    markdown.inline.ruler.before("escape", "formula", _formula)
    markdown.inline.ruler.before("emphasis", "sign", _sign)
    markdown.block.ruler.at("blockquote", _quote, {"alt": _INTERRUPTED})
    markdown.block.ruler.before("fence", "formula_block", _formula_block, {"alt": _INTERRUPTED})
    return markdown


MARKDOWN = _markdown()
