"""Requests of the page beside fifty terminals in the middle of a turn, in the real `moot run`.

    python -m bench.page_lag [--terminals 50] [--rooms 50] [--seconds 20]

Each terminal is a program of its own (`bench.redrawing`), described in TOML, that draws 1.2 KB ten
times a second; each of the rooms asks the demo agent every 5 s. A request of the page (`/sign-in`)
is sent every 20 ms from a process beside Moot, and timed: what it takes is how long the loop had no
time, and its own work of 1 to 2 ms. `late` is how late the bench itself was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from bench.rig import ANSWER_S, cpu_s, run, share
from bench.slices import Slices
from tests.doubles.service import Service, service

PROGRAM = Path(__file__).parent / "redrawing.py"
EACH_S = 0.02
ASK_S = 5.0  # between two questions of a room: commits to a busy disk take their time
CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[connections]
most_of_address = 1000
[sessions]
most = {most}
[access]
rooms = "open"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
[agents.drawn]
profile = "generic"
command = {command}
[agents.drawn.settings]
ready = '^❯$'
busy = 'esc to interrupt'
reply = '● '
margin = 2
echo = '❯ (.+)'
box = '❯(?: \\w*)?$'
"""


class Page:
    """The page of a running Moot, asked as its visitors and rooms do."""

    def __init__(self, http: aiohttp.ClientSession, moot: Service) -> None:
        self._http = http
        self._url = moot.url.rstrip("/")
        self._headers = moot.headers
        self.took: list[float] = []
        self.late: list[float] = []
        self.answered: list[float] = []

    async def say(self, room: str, text: str) -> Any:
        """Ask in a room; what is answered."""
        body = {
            "content": text,
            "room": f"web:{room}",
            "source": "web",
            "sender_id": "web:ann",
            "sender_display_name": "Ann",
            "sender_type": "human",
            "wait": ANSWER_S,
        }
        async with self._http.post(
            f"{self._url}/api/submit", json=body, headers=self._headers
        ) as answer:
            return await answer.json()

    async def look(self, seconds: float) -> None:
        """Ask every 20 ms, however long the one before takes."""
        self.took, self.late = [], []
        begin, asked = time.perf_counter(), set()
        for number in range(int(seconds / EACH_S)):
            due = begin + number * EACH_S
            await asyncio.sleep(due - time.perf_counter())
            self.late.append(time.perf_counter() - due)
            asked.add(asyncio.create_task(self._get()))
        await asyncio.gather(*asked)

    async def _get(self) -> None:
        begin = time.perf_counter()
        async with self._http.get(f"{self._url}/sign-in") as answer:
            await answer.read()
        self.took.append(time.perf_counter() - begin)

    async def chat(self, room: str, first: float) -> None:
        """A room whose demo agent is asked now and then."""
        await asyncio.sleep(first)
        number = 0
        while True:
            begin = time.perf_counter()
            await self.say(room, f"@demo echo word {number}")
            self.answered.append(time.perf_counter() - begin)
            number += 1
            await asyncio.sleep(max(ASK_S - (time.perf_counter() - begin), 0.0))


def ms(seconds: Sequence[float]) -> str:
    """The percentiles that people compare."""
    parts = "  ".join(f"p{p} {share(seconds, p / 100) * 1e3:6.1f}" for p in (50, 99))
    return f"{parts}  max {max(seconds) * 1e3:6.1f} ms"


async def measured(page: Page, moot: Service, name: str, seconds: float) -> None:
    """One row."""
    page.answered = []
    cpu, began = cpu_s(moot.pid), time.monotonic()
    await page.look(seconds)
    ended = time.monotonic()
    used = (cpu_s(moot.pid) - cpu) / (ended - began)
    print(f"{name:<22} {ms(page.took)}   CPU {used:4.0%}   late {ms(page.late)}", flush=True)
    if page.answered:
        print(f"{'':<22} demo answers {ms(page.answered)}", flush=True)
    for row in Slices.read(moot.folder / "slices", began, ended).rows():
        print(f"{'':<22} {row}", flush=True)


async def bench(terminals: int, rooms: int, seconds: float, folder: Path) -> None:
    """All rows."""
    command = json.dumps([sys.executable, "-I", "-S", str(PROGRAM), "screen"])
    (folder / "personas").mkdir(parents=True)
    for agent in ("demo", "drawn"):
        text = f"---\nagent: {agent}\nsandbox: off\n---\nYou are {agent}.\n"
        (folder / "personas" / f"{agent}.md").write_text(text, encoding="utf-8")
    config = CONFIG.format(most=terminals + rooms, command=command)
    timeout, limits = aiohttp.ClientTimeout(ANSWER_S), aiohttp.TCPConnector(limit=0)
    async with (
        service(
            folder, config, (), sys.executable, "bench.slices", SLICES=str(folder / "slices")
        ) as moot,
        aiohttp.ClientSession(timeout=timeout, connector=limits) as http,
    ):
        page = Page(http, moot)
        await measured(page, moot, "alone", seconds / 2)
        chats = [
            asyncio.create_task(page.chat(f"chat-{number}", number * ASK_S / rooms))
            for number in range(rooms)
        ]
        await asyncio.sleep(5)
        await measured(page, moot, f"{rooms} demo rooms", seconds / 2)
        for number in range(0, terminals, 10):
            started = [
                page.say(f"drawn-{n}", "@drawn work 0.2 still 0 redraw 5")
                for n in range(number, min(number + 10, terminals))
            ]
            for told in await asyncio.gather(*started):
                assert "exactly" in str(told), told
        await asyncio.sleep(8)
        working = [
            asyncio.create_task(
                page.say(f"drawn-{n}", f"@drawn work {seconds + 15} still 0 redraw 0")
            )
            for n in range(terminals)
        ]
        await asyncio.sleep(10)
        await measured(page, moot, f"{terminals} in mid-turn", seconds)
        await asyncio.gather(*working)
        for chat in chats:
            chat.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*chats)


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--terminals", type=int, default=50)
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as folder:
        run(bench(given.terminals, given.rooms, given.seconds, Path(folder) / "moot"))


if __name__ == "__main__":
    main()
