"""`moot run` as a process of its own, as an operator starts it, and kills it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles.credentials import bearer, served

HOUSE = Path(__file__).parents[2]


@dataclass
class Service:
    """One installation: its folder with moot.toml, its environment, and at most one process."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    url: str = ""
    link: str = ""  # signs its owner in, once
    words: tuple[str, ...] = ()
    python: str = sys.executable
    module: str = "gateway.main"  # whose main() is `moot`
    _process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it, and wait until it serves its page."""
        await self.begin()
        await self.serving()

    async def begin(self) -> None:
        """Start it."""
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.folder),
            "MOOT_HOME": str(self.folder),
            "PYTHONPATH": str(HOUSE),
            **self.environment,
        }
        log = (self.folder / "moot.log").open("ab")
        self._process = await asyncio.create_subprocess_exec(
            self.python,
            "-c",
            f"from {self.module} import main; main()",
            "run",
            *self.words,
            cwd=self.folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
        log.close()

    async def serving(self, within_s: float = 30) -> None:
        """Wait until it serves its page; one that stands by does not."""
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(within_s):
            line = (await self._process.stdout.readline()).decode()
        if not line.startswith("Moot is at "):
            await self._process.wait()
            raise AssertionError(self.log())
        self.url = line.removeprefix("Moot is at ").strip()
        served(self.url, self.folder)
        async with asyncio.timeout(30):
            told = (await self._process.stdout.readline()).decode()
        self.link = told.rpartition(" ")[2].strip()

    @property
    def headers(self) -> Mapping[str, str]:
        """Those of a program that comes with the owner's secret."""
        return bearer(self.folder)

    async def ended(self) -> int:
        """Wait until it has ended by itself; its exit code."""
        process, self._process = self._process, None
        assert process is not None
        return await process.wait()

    def send(self, number: signal.Signals) -> None:
        """A signal for it."""
        os.kill(self.pid, number)

    async def kill(self) -> None:
        """`kill -9`."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end."""
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            async with asyncio.timeout(20):
                await process.wait()

    def log(self) -> str:
        """What it logged so far."""
        return (self.folder / "moot.log").read_text(encoding="utf-8", errors="replace")

    def leaks(self, *bodies: str) -> list[str]:
        """Lines of the log that tell a secret of its environment, or what somebody said."""
        secret = ("TOKEN", "PASSWORD", "SECRET", "API_KEY")
        words = [
            value for name, value in self.environment.items() if any(s in name for s in secret)
        ]
        told = [*bodies, *words]
        return [line for line in self.log().splitlines() if any(word in line for word in told)]


@asynccontextmanager
async def service(
    folder: Path,
    config: str,
    words: tuple[str, ...] = (),
    python: str = sys.executable,
    module: str = "gateway.main",
    /,
    **environment: str,
) -> AsyncIterator[Service]:
    """An installation in `folder`, started; its process is ended when left. words: of its command,
    after `run`. module: has its main()."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "moot.toml").write_text(config, encoding="utf-8")
    running = Service(folder, environment, words=words, python=python, module=module)
    await running.start()
    try:
        yield running
    finally:
        await running.stop()
