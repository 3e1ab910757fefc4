"""markdown-it set up for chat: which rules it follows, and the three it follows in another way."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

# Nested deeper than this, text is kept as text: the parser recurses once per level.
MAX_NESTING = 40

_URL = re.compile(r"https?://[^\s<>`\u3000-\u303f\uff00-\uffef]+", re.IGNORECASE)
_URL_END = ".,:;!?'\"*_~"
_CELL = re.compile(r"(?<!\\)\|")


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
    if scheme is None or not (found := _URL.match(state.src, state.pos - len(scheme))):
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
    markdown.enable(["table", "strikethrough"])
    markdown.disable(["entity", "html_block", "html_inline"])
    markdown.inline.ruler.at("newline", _newline)
    markdown.inline.ruler.before("newline", "bare_url", _bare_url)
    return markdown


MARKDOWN = _markdown()
