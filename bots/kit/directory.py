"""Names of people and rooms, and summaries of threads: looked up once, never waited for long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar

from bots.kit.recent import Lookup
from contract.chat import Speaker

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

HEADING = "[Thread context — prior messages in this thread, newest last]"
SHOWN, CHARS = 15, 400


def thread_block(lines: Sequence[tuple[Speaker, str]]) -> str | None:
    """The summary of a thread's earlier messages, oldest first; None when there are none."""
    shown = []
    for by, text in lines[-SHOWN:]:
        name = " ".join(by.name.split())
        label = f"{name} ({by.mention})" if by.mention else name
        cut = text if len(text) <= CHARS else text[: CHARS - 1] + "…"
        shown.append(f"- {label}: " + "\n  ".join(cut.splitlines()))
    return "\n".join([HEADING, *shown]) if shown else None


class LookupDirectory:
    """The base of a platform's directory: it closes the lookups that were made with it.

    now: the time in seconds since 1970. patience_s: how long an answer is waited for.
    """

    def __init__(self, *, now: Callable[[], float], patience_s: float) -> None:
        self._now, self._patience_s = now, patience_s
        self._lookups: list[Lookup[Any, Any]] = []

    def lookup(
        self,
        name: str,
        fetch: Callable[[K], Awaitable[V]],
        *,
        patience_s: float | None = None,
        keep_s: float = 3600.0,
        entries: int = 4096,
    ) -> Lookup[K, V]:
        """A cache over `fetch`; see Lookup."""
        made = Lookup(
            name,
            fetch,
            now=self._now,
            patience_s=self._patience_s if patience_s is None else patience_s,
            keep_s=keep_s,
            entries=entries,
        )
        self._lookups.append(made)
        return made

    async def close(self) -> None:
        """End the questions under way."""
        for made in self._lookups:
            await made.close()
