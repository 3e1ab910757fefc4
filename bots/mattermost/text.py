"""Markdown as Mattermost shows it: its own, but for what it would read otherwise than our reader,
what would call everybody, and what would become a hashtag.

(docs.mattermost.com, Format messages: a block of `latex` is drawn where that is enabled; server's
ParseHashtags and mention keywords. Read 2026-11.)
"""

from __future__ import annotations

import re
from functools import lru_cache

from bots.markdown.kept import kept
from bots.markdown.writer import ZERO_WIDTH, Dialect, outside_code, quiet

# A post has 16,383 code points; servers before 5.0 have 4,000, and say so.
LIMIT = 16_300

_HASHTAG = re.compile(r"(?<!\S)#(?=[^\W\d_])")
_NAME = re.compile(r"(?<![\w@.-])@([a-z0-9](?:[a-z0-9._-]*[a-z0-9_-])?)", re.IGNORECASE)


def _plain(text: str) -> str:
    return _HASHTAG.sub("#" + ZERO_WIDTH, quiet(text))


# A piece is written when it is split and again when it is posted.
@lru_cache(maxsize=64)
def written(text: str) -> str:
    """The Markdown text as it is posted."""
    return outside_code(kept(text, "latex"), _plain).strip("\n")


def size(text: str) -> int:
    """Code points of the post that a Markdown text becomes."""
    return len(written(text))


def names(text: str) -> tuple[str, ...]:
    """The user names that a text mentions, as the server finds them: not in code, in lower case."""
    found: dict[str, None] = {}

    def look(part: str) -> str:
        found.update(dict.fromkeys(name.lower() for name in _NAME.findall(part)))
        return part

    outside_code(text, look)
    return tuple(found)


DIALECT = Dialect(written, size, LIMIT)
