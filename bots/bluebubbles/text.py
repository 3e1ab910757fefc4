"""Markdown as the plain text of an iMessage, and the room that it takes there. Pure.

A bubble shows no markup and its letters have different widths: the columns of a table can't be
aligned, so a row is a line with dashes between its cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from bots.markdown.tree import TableBlock
from bots.markdown.writer import Dialect, MarkdownWriter

LIMIT = 8_000  # it takes more, but nobody reads more in a bubble


def size(text: str) -> int:
    """UTF-16 units of the message that a Markdown text becomes."""
    return len(written(text).encode("utf-16-le", "surrogatepass")) // 2


class _BubbleWriter(MarkdownWriter):
    def table(self, table: TableBlock) -> Iterable[str]:
        for row in table.rows:
            yield " — ".join(self.text(self.plain(cell)) for cell in row)


# A piece is written when it is split and again when it is posted.
written = lru_cache(maxsize=64)(_BubbleWriter().write)

DIALECT = Dialect(written, size, LIMIT)
