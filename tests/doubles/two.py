"""Two `moot run` on one PostgreSQL, each with a folder of its own: the first leads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doubles import postgres
from tests.doubles.ports import free_port
from tests.doubles.service import Service


@dataclass
class Two:
    """url: of their database. port: where the second listens, also while it stands by."""

    first: Service
    second: Service
    url: str
    port: int

    async def take_over(self) -> None:
        """The first is killed; return when the second serves its page."""
        await self.first.kill()
        await self.second.serving()


@asynccontextmanager
async def two(
    folder: Path,
    config: str,
    prepare: Callable[[Path], object] = lambda folder: None,
    /,
    **environment: str,
) -> AsyncIterator[Two]:
    """The first serves and the second stands by. config: without [gateway] listen and data_dir, and
    without [store]. prepare: given the folder of each before it starts."""
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    with postgres.server() as server:
        url = await postgres.new_database(server)
        port = free_port()
        first = made(folder / "first", config, url, 0, environment)
        second = made(folder / "second", config, url, port, environment)
        for one in (first, second):
            prepare(one.folder)
        try:
            await first.start()
            await second.begin()
            await logged(second, "gateway.stands_by")
            yield Two(first, second, url, port)
        finally:
            await second.stop()
            await first.stop()


def made(folder: Path, config: str, url: str, port: int, environment: Mapping[str, str]) -> Service:
    """An installation that isn't started. config: see `two`."""
    folder.mkdir(exist_ok=True)
    own = f'[gateway]\nlisten = "127.0.0.1:{port}"\ndata_dir = "data"\n[store]\nurl = "{url}"\n'
    (folder / "moot.toml").write_text(own + config, encoding="utf-8")
    return Service(folder, dict(environment))


async def logged(moot: Service, event: str) -> None:
    """Wait for a line of its log."""
    async with asyncio.timeout(40):
        while not (moot.folder / "moot.log").exists() or f'"{event}"' not in moot.log():
            await asyncio.sleep(0.05)
