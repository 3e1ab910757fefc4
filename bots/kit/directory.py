"""Names of people and rooms, and summaries of threads: looked up once, never waited for long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from bots.kit.events import SaidMessage
from bots.kit.recent import Lookup
from contract.chat import Speaker
from contract.values import dataclass

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
M = TypeVar("M", bound=SaidMessage)

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


@dataclass(frozen=True, slots=True)
class ThreadEnd(Generic[M]):
    """The end of a thread's summary: before the message `until`, whose text no log may show.

    id: the thread's first message.
    """

    id: str
    until: M

    def __str__(self) -> str:
        return self.id


class ThreadDirectory(LookupDirectory, Generic[M]):
    """The base of a directory where a thread is known by its first message alone."""

    def __init__(self, *, now: Callable[[], float], patience_s: float) -> None:
        super().__init__(now=now, patience_s=patience_s)
        self._threads = self.lookup("thread's messages", self._fetch_thread, entries=256)

    async def thread_context(self, said: M) -> str | None:
        """The block of the thread's messages before this one, or None."""
        if said.thread_id is None:
            return None
        return await self._threads.get(ThreadEnd(said.thread_id, said)) or None

    async def _fetch_thread(self, thread: ThreadEnd[M]) -> str:
        """The block; "": there is nothing to tell. Raises PlatformError."""
        raise NotImplementedError


def account_speaker(
    source: str,
    external_id: str,
    name: str,
    username: str,
    *,
    is_bot: bool,
    role: str | None = None,
) -> Speaker:
    """Somebody who is mentioned by a user name. name: as they are shown, or ""."""
    shown = name.strip() or username or external_id
    mention = f"@{username}" if username and not is_bot else None
    return Speaker(f"{source}:{external_id}", shown, "bot" if is_bot else "human", mention, role)
