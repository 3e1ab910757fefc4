"""Buckets of the workers' broker, in its JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from gateway.files.store import Fault, failures
from gateway.workers.link import FILES, Link, LinkDown

TRY_S = 5.0  # with a broker that doesn't answer; a message waits for that


Linked = Callable[[], AbstractAsyncContextManager[Link]]
"""Gives the connection. Raises LinkDown, TimeoutError, OSError."""


class BrokerBucket:
    """One of its buckets."""

    def __init__(self, bucket: str, linked: Linked) -> None:
        self._bucket, self._connected = bucket, linked

    async def put(self, name: str, data: bytes) -> None:
        async with self._linked() as link:
            await link.keep(self._bucket, name, data)

    async def get(self, name: str) -> bytes | None:
        async with self._linked() as link:
            return await link.kept(self._bucket, name)

    async def delete(self, names: Sequence[str]) -> None:
        if names:
            async with self._linked() as link:
                await link.drop(self._bucket, names)

    async def list(self, folder: str) -> Sequence[str]:
        async with self._linked() as link:
            names = await link.names(self._bucket)
            return [name for name in names if name.startswith(f"{folder}/")]

    @asynccontextmanager
    async def _linked(self) -> AsyncIterator[Link]:
        with failures(LinkDown, TimeoutError, OSError, told=_told):
            async with self._connected() as link:
                yield link


class LaterLink:
    """A connection that is made when it is first wanted: Moot starts while the broker is away."""

    def __init__(self, connect: Linked, open_: AsyncExitStack) -> None:
        """open_: closes the connection."""
        self._connect = connect
        self._open = open_
        self._link: Link | None = None
        self._connecting = asyncio.Lock()

    @asynccontextmanager
    async def linked(self) -> AsyncIterator[Link]:
        """See `Linked`."""
        async with self._connecting:
            if self._link is None:
                async with asyncio.timeout(TRY_S):
                    self._link = await self._open.enter_async_context(self._connect())
        yield self._link


def _told(_error: Exception) -> tuple[str, Fault]:
    return "the broker does not answer", "away"


@asynccontextmanager
async def broker_files(connect: Linked) -> AsyncIterator[BrokerBucket]:
    """The files of messages. connect: opens a connection with the gateway's rights."""
    async with AsyncExitStack() as stack:
        yield BrokerBucket(FILES, LaterLink(connect, stack).linked)
