"""The opened store, index and model that every command of `moot memory` works with."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from contract.errors import ConfigError
from contract.values import dataclass
from gateway.cli.command_line import printable
from gateway.settings.config import Config
from memory.model import Model
from memory.recall.index import Hit, Index, IndexEntry
from store.database import Store


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """Opened resources. index, model: None when there is none. given: the command line."""

    config: Config
    store: Store
    index: Index | None
    model: Model | None
    given: argparse.Namespace
    out: TextIO = sys.stdout

    def say(self, text: str, /, **values: Any) -> None:
        """Print a line: the text, or with --json the values."""
        if getattr(self.given, "json", False):
            self.write_line(json.dumps(values, ensure_ascii=False))
        else:
            self.write_line(shown(text))

    def write_line(self, text: str) -> None:
        """Print a line as it is."""
        self.out.write(f"{text}\n")

    def searched(self) -> Index:
        """The index. Raises ConfigError when there is none."""
        if self.index is None:
            raise ConfigError("[memory] store: there is no index to search in")
        return self.index


def shown(text: str) -> str:
    """The text on one line, without what would move a terminal's cursor."""
    return printable(" ".join(text.split()))


@contextmanager
def progress(what: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
    """A line on standard error that counts, where that is a terminal; yields what adds to it."""
    done = 0

    def add(more: int) -> None:
        nonlocal done
        done += more
        if sys.stderr.isatty():
            of = "" if total is None else f" of {total}"
            sys.stderr.write(f"\r{what}: {done}{of} {unit}")
            sys.stderr.flush()

    add(0)
    try:
        yield add
    finally:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


@dataclass(slots=True)
class CountedIndex:
    """An index that reports how many entries it took in."""

    index: Index
    count: Callable[[int], object]
    name: str

    async def add(self, entries: Sequence[IndexEntry]) -> None:
        """Take them in, and count them."""
        await self.index.add(entries)
        self.count(len(entries))

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        """See Index."""
        return await self.index.search(query, scopes, limit)

    async def remove(self, ids: Sequence[str]) -> None:
        """See Index."""
        await self.index.remove(ids)

    async def ids(self, scope: str | None = None) -> set[str]:
        """See Index."""
        return await self.index.ids(scope)

    async def clear(self) -> None:
        """See Index."""
        await self.index.clear()

    async def warm(self) -> None:
        """See Index."""
        await self.index.warm()
