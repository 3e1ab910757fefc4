"""Parts that the benches share: a Slack that takes the time, Moot and the bare bot in front
of it as processes of their own, and percentiles.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.doubles.service import HOUSE, Service, service
from tests.doubles.slack import BOT_USER, SlackDouble

ANSWER_S = 60.0  # for one answer; more is a failure of the run
ECHO = "echo word {n}"
_NUMBERED = re.compile(r"\bword (\d+)\b")

_CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
personas_dir = "{personas}"
[access]
rooms = "open"
"""
_SLACK = """
[[bots]]
platform = "slack"
personas = ["{persona}"]
api_url = "{api_url}"
"""
_DEMO = """
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent that answers, and the prompt that makes it say `word 7`.

    agents: the [agents.NAME] tables of moot.toml. text: with `{n}` for the number.
    """

    persona: str = "demo"
    agents: str = _DEMO
    text: str = ECHO

    def config(self, api_url: str | None) -> str:
        """A moot.toml; without an api_url the page is the only platform."""
        config = _CONFIG.format(personas=HOUSE / "personas") + self.agents
        return config + _SLACK.format(persona=self.persona, api_url=api_url) if api_url else config


@dataclass(frozen=True, slots=True)
class Arrival:
    """An answer at Slack. at: time.perf_counter(); wall: time.time(); turn: its id at Moot."""

    at: float
    wall: float
    turn: str


@dataclass
class TimedSlack(SlackDouble):
    """Notes when the answer to each number arrives."""

    _waiting: dict[int, asyncio.Future[Arrival]] = field(default_factory=dict)

    def answer(self, method: str, args: dict[str, Any], token: str) -> dict[str, Any]:
        said = str(args.get("text") or args.get("chunks"))  # what took long is streamed
        found = _NUMBERED.search(said) if method.startswith("chat.") else None
        waiting = self._waiting.pop(int(found[1]), None) if found else None
        if waiting is not None and not waiting.done():
            payload = (args.get("metadata") or {}).get("event_payload") or {}
            turn = str(payload.get("key", "")).partition(":")[0]
            waiting.set_result(Arrival(time.perf_counter(), time.time(), turn))
        return super().answer(method, args, token)

    def rooms(self, count: int) -> list[str]:
        """So many channels, made if they aren't there."""
        names = [f"C0ROOM{number:03}" for number in range(count)]
        for name in names:
            self.channels[name] = {**self.channels["C0GENERAL"], "id": name, "name": name.lower()}
            self.members[name] = list(self.members["C0GENERAL"])
        return names

    async def ask(self, channel: str, text: str, number: int) -> Arrival:
        """Mention the bot; return when its answer is here."""
        self._waiting[number] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[number]
        await self.say(f"<@{BOT_USER}> {text.format(n=number)}", channel=channel)
        async with asyncio.timeout(ANSWER_S):
            return await waiting

    async def seconds(self, channel: str, text: str, number: int) -> float:
        """From the event sent to the answer received."""
        begin = time.perf_counter()
        return (await self.ask(channel, text, number)).at - begin


def tokens(slack: SlackDouble) -> dict[str, str]:
    """A bot's secrets, as its environment has them."""
    return {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}


@dataclass(slots=True)
class Bare:
    """The bare bot's process."""

    environment: Mapping[str, str]
    _process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it; it connects when it connects."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.bare_bot", env=self.environment, cwd=HOUSE
        )

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    async def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(20):
                await process.wait()


def bare_bot(slack: SlackDouble) -> Bare:
    """The bare bot, not started, for this Slack."""
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    secrets = {"BOT_TOKEN": slack.bot_token, "APP_TOKEN": slack.app_token}
    return Bare({**base, "LANG": "C.UTF-8", "API_URL": slack.api_url, **secrets})


@asynccontextmanager
async def bare() -> AsyncIterator[tuple[TimedSlack, Bare]]:
    """A Slack with the bare bot connected to it."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        bot = bare_bot(slack)
        await bot.start()
        try:
            await connected(slack)
            yield slack, bot
        finally:
            await bot.stop()


@asynccontextmanager
async def moot(folder: Path, asked: Asked) -> AsyncIterator[tuple[TimedSlack, Service]]:
    """A Slack with Moot connected to it."""
    async with TimedSlack.open() as slack:
        assert isinstance(slack, TimedSlack)
        config = asked.config(slack.api_url)
        async with service(folder, config, **tokens(slack)) as running:
            await connected(slack)
            yield slack, running


async def connected(slack: SlackDouble) -> None:
    """Until the bot has its socket open."""
    async with asyncio.timeout(30):
        await slack.delivery.connected()


async def warm(slack: TimedSlack, rooms: Sequence[str], text: str, first: int) -> None:
    """One answer in every room, so that each has its session."""
    async with asyncio.TaskGroup() as group:
        for number, room in enumerate(rooms, first):
            group.create_task(slack.ask(room, text, number), name=f"warm {room}")


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, its children's left out; NaN without Linux's /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(values: Sequence[float], part: float) -> float:
    """The value below which `part` of them lie."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def spread_ms(seconds: Sequence[float]) -> str:
    """The percentiles that people compare."""
    return "  ".join(f"p{p} {share(seconds, p / 100) * 1e3:7.1f}" for p in (50, 90, 99)) + " ms"


def arguments(
    doc: str | None, add: Callable[[argparse.ArgumentParser], None] = lambda parser: None
) -> tuple[argparse.Namespace, Asked]:
    """The command line: `add`'s options, and those that choose another agent."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add(parser)
    parser.add_argument("--persona", default="demo", help="who is asked")
    parser.add_argument("--agents", type=Path, help="a file with [agents.NAME] tables")
    parser.add_argument("--ask", default=ECHO, help="what is asked, with {n} for the number")
    given = parser.parse_args()
    tables = given.agents.read_text(encoding="utf-8") if given.agents else _DEMO
    return given, Asked(given.persona, tables, given.ask)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Carry out one part of the bench."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    gc.disable()  # a look through all that was noted takes up to 80 ms, and nobody is answered
    asyncio.run(work)
