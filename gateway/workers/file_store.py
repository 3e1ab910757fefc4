"""A bucket of the workers' broker, in its JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from gateway.files.store import Fault, failures
from gateway.workers.link import FILES, Link, LinkDown

TRY_S = 5.0  # with a broker that doesn't answer; a message waits for that


class BrokerFiles:
    """Its connection is made when one is first wanted: Moot starts while the broker is away."""

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[Link]], open_: AsyncExitStack
    ) -> None:
        """open_: closes the connection."""
        self._connect = connect
        self._open = open_
        self._link: Link | None = None
        self._connecting = asyncio.Lock()

    async def put(self, name: str, data: bytes) -> None:
        async with self._linked() as link:
            await link.keep(FILES, name, data)

    async def get(self, name: str) -> bytes | None:
        async with self._linked() as link:
            return await link.kept(FILES, name)

    async def delete(self, names: Sequence[str]) -> None:
        if names:
            async with self._linked() as link:
                await link.drop(FILES, names)

    async def list(self, folder: str) -> Sequence[str]:
        async with self._linked() as link:
            return [name for name in await link.names(FILES) if name.startswith(f"{folder}/")]

    @asynccontextmanager
    async def _linked(self) -> AsyncIterator[Link]:
        with failures(LinkDown, TimeoutError, OSError, told=_told):
            async with self._connecting:
                if self._link is None:
                    async with asyncio.timeout(TRY_S):
                        self._link = await self._open.enter_async_context(self._connect())
            yield self._link


def _told(_error: Exception) -> tuple[str, Fault]:
    return "the broker does not answer", "away"


@asynccontextmanager
async def broker_files(
    connect: Callable[[], AbstractAsyncContextManager[Link]],
) -> AsyncIterator[BrokerFiles]:
    """connect: opens a connection with the gateway's rights."""
    async with AsyncExitStack() as stack:
        yield BrokerFiles(connect, stack)
