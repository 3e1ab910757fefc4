"""A proxy before a PostgreSQL on a Unix socket, which loses connections in a commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass


@dataclass
class Proxy:
    """cut_every: of so many commits one is made and not told, as the connection is cut; 0: none.

    cuts: how many were.
    """

    folder: str  # with the server's socket
    port: int = 0
    cut_every: int = 0
    cuts: int = 0
    _commits: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what a client and the server say to one another."""
        path = f"{self.folder}/.s.PGSQL.5432"
        try:
            server, to_server = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        back = asyncio.create_task(_pass_on(server, writer))
        try:
            while data := await reader.read(65536):
                cuts = b"COMMIT;\0" in data and self._is_cut()
                if cuts:
                    back.cancel()
                    with suppress(asyncio.CancelledError):
                        await back
                to_server.write(data)
                await to_server.drain()
                if cuts:
                    await server.read(1)  # the server has answered
                    self.cuts += 1
                    break
        except OSError:
            pass
        finally:
            back.cancel()
            to_server.close()
            writer.transport.abort()

    def _is_cut(self) -> bool:
        self._commits += 1
        return self.cut_every > 0 and self._commits % self.cut_every == 0


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxy(folder: str) -> AsyncIterator[Proxy]:
    """One before the server whose socket is in `folder`."""
    made = Proxy(folder)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
