"""Gateways, workers, a broker and a PostgreSQL as processes of their own, and Slack's double, in
which every answer is counted. Between them are links that can fail.

An agent's work begins when it is asked, which a file shows, and ends when a test lets it: so a
fault falls into a turn where a test wants it, and nothing waits for a clock.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from composer.scene import CUT_OFF
from gateway.workers.credentials import FOLDER
from tests.doubles import postgres
from tests.doubles.cells import SETTINGS, SHELL
from tests.doubles.ports import free_port
from tests.doubles.service import Service
from tests.doubles.slack import BOT_USER, DM, GENERAL, GROUP_DM, OLIVIA, PRIVATE, SlackDouble
from tests.doubles.two import made
from tests.doubles.workers import Broker, WorkerProcess
from tests.machines.links import Link
from tests.machines.network import Network

LONG_S = 90.0  # no event takes so long unless it never comes
ROOMS = (GENERAL, PRIVATE, DM, GROUP_DM)
AGENTS = "\n".join(
    (
        "[agents.obedient]",
        'profile = "generic"',
        f"command = {json.dumps([sys.executable, '-u', str(SHELL), 'patient'])}",
        "[agents.obedient.settings]",
        *(f"{key} = {json.dumps(value)}" for key, value in SETTINGS.items()),
        "[agents.demo]",
        'profile = "demo"',
    )
)
OPEN = 'rooms = "open"\ndms = "open"'
CONFIG = """
[access]
{access}
approvers = ["slack:U0OLIVIA1"]
[workers]
nats = "{nats}"
{workers}
[[bots]]
platform = "slack"
personas = ["ash"]
api_url = "{slack}"
{agents}
"""


async def until(condition: Callable[[], Any], what: str, within_s: float = LONG_S) -> None:
    """Wait for something that must come. what: it, for who reads the failure."""
    try:
        async with asyncio.timeout(within_s):
            while not condition():
                await asyncio.sleep(0.03)
    except TimeoutError:
        raise AssertionError(f"{within_s:g} s went by without: {what}") from None


async def until_it(condition: Callable[[], Awaitable[Any]], what: str) -> None:
    """The same of something that has to be asked for."""
    try:
        async with asyncio.timeout(LONG_S):
            while not await condition():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{LONG_S:g} s went by without: {what}") from None


@dataclass(frozen=True, slots=True)
class Question:
    """Somebody's question. ts: of its message. word: of its answer; no other one has it. folder:
    shows how often an agent began with it; None: that is not to be seen. end: its answer's."""

    room: str
    ts: str
    word: str
    folder: Path | None = None
    end: str = ""

    def begun(self) -> int:
        """How often an agent began with it, where it is to be seen."""
        runs = self.folder / f"{self.word}.runs" if self.folder else None
        return len(runs.read_text().split()) if runs and runs.exists() else 0

    def let_go(self) -> None:
        """Its agents may finish."""
        if self.folder:
            (self.folder / f"{self.word}.go").touch()


@dataclass
class Machines:
    """The house. gateways: the first one led at first. links: by what they connect."""

    folder: Path
    slack: SlackDouble
    database: postgres.Server
    url: str  # of the database, without a link
    broker: Broker
    gateways: list[Service] = field(default_factory=list)
    workers: dict[str, WorkerProcess] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    ports: list[int] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    # ── What people do ──────────────────────────────────────────────────────────────────

    async def ask(self, *, room: str = GENERAL, free: bool = False, user: str = OLIVIA) -> Question:
        """Ask for some work, which takes until it is let go. free: it is at once."""
        word = f"answer-{next(self.numbers)}x"
        folder = self.folder / "work"
        folder.mkdir(exist_ok=True)
        command = (
            f"echo run | tee -a {folder}/{word}.runs; "
            f"while [ ! -e {folder}/{word}.go ]; do sleep 0.05; done; echo {word}"
        )
        text = f"<@{BOT_USER}> please &lt;&lt;{command}&gt;&gt;"
        ts = await self.slack.say(text, user, channel=room)
        question = Question(room, ts, word, folder)
        self.asked.append(question)
        if free:
            question.let_go()
        return question

    async def ask_demo(self, text: str, word: str, end: str) -> Question:
        """Ask the demo agent. word, end: of its answer."""
        ts = await self.slack.say(f"<@{BOT_USER}> {text}")
        self.asked.append(Question(GENERAL, ts, word, end=end))
        return self.asked[-1]

    def posts(self, question: Question) -> list[str]:
        """Its answers, as people see them."""
        return [text for text in self.slack.texts(question.room) if question.word in text]

    async def begun(self, question: Question, times: int = 1) -> None:
        """Wait until an agent began with it so often."""
        await until(lambda: question.begun() >= times, f"{question.word} begins {times} times")

    async def answered(self, *questions: Question) -> None:
        """Wait until each has its answer."""
        for one in questions or self.asked:
            await until(partial(self._whole, one), f"{one.word} is posted")

    def _whole(self, question: Question) -> bool:
        return any(question.end in text for text in self.posts(question))

    def buttons(self) -> list[tuple[str, str]]:
        """The posts with buttons that can be pressed: channel and ts."""
        return [
            (channel, ts)
            for channel, messages in self.slack.messages.items()
            for ts, message in messages.items()
            if any(
                element.get("type") == "button"
                for block in message.get("blocks") or ()
                for element in block.get("elements", ())
            )
        ]

    async def say_yes(self) -> None:
        """Press every button for Yes that comes, for ever."""
        pressed: set[str] = set()
        while True:
            for channel, ts in self.buttons():
                if ts not in pressed:
                    pressed.add(ts)
                    await self.slack.press(channel, ts, "Yes")
            await asyncio.sleep(0.05)

    # ── What is true in the end ─────────────────────────────────────────────────────────

    async def settled(self) -> None:
        """Wait until nothing is under way: no turn, no answer in the broker's log."""

        async def rest() -> bool:
            [row] = await self.sql(
                "SELECT count(*) FROM turns WHERE state IN ('queued', 'running', 'answered')"
            )
            return int(row[0]) == 0

        await until_it(rest, "no turn is open")

    async def check(self, *, again: Sequence[Question] = ()) -> None:
        """Every question has one answer and is asked once; those of `again` may have been asked
        twice, and then the second try was said."""
        await self.answered()
        await self.settled()
        for one in self.asked:
            posted = self.posts(one)
            assert len(posted) == 1, f"{one.word}: {posted}"
            most = 2 if one in again else 1
            assert one.begun() <= most, f"{one.word} began {one.begun()} times"
            if one.begun() == 2:
                found = await self.sql(
                    "SELECT t.header FROM turns t JOIN messages m ON m.seq = t.message_seq"
                    " WHERE m.content LIKE $1 AND t.kind = 'ask'",
                    f"%{one.word}.runs%",
                )
                assert [CUT_OFF in row[0] for row in found] == [True], f"{one.word}: not said"
        for row in await self.sql("SELECT record FROM turns WHERE kind = 'ask'"):
            assert json.loads(row[0]).get("attempt", 1) <= 2
        for moot in self.gateways:
            if (moot.folder / "moot.log").exists():
                assert "Traceback" not in moot.log()
                assert "turn.crashed" not in moot.log()

    async def sql(self, query: str, *given: object) -> list[Any]:
        """Rows of the database."""
        host, name = self.url.partition("host=")[2], self.url.partition("@/")[2].partition("?")[0]
        connection = await asyncpg.connect(host=host, user="moot", database=name)
        try:
            return list(await connection.fetch(query, *given))
        finally:
            await connection.close()

    # ── Who does it ─────────────────────────────────────────────────────────────────────

    def busy(self) -> str:
        """The worker on which the newest session was opened."""
        lines = [line for one in self.gateways for line in logged(one, "session.opened")]
        newest = max(lines, key=lambda line: json.loads(line)["time"])
        return str(json.loads(newest)["worker"])

    def leader(self) -> Service:
        """The gateway that was the last to take the lead."""
        taken = [(one, logged(one, "lead.ours")) for one in self.gateways]
        found, _ = max(
            ((one, lines[-1]) for one, lines in taken if lines),
            key=lambda pair: json.loads(pair[1])["time"],
        )
        return found

    def count(self, event: str) -> int:
        """How often the gateways logged it."""
        return sum(len(logged(one, event)) for one in self.gateways)

    async def health(self, number: int = 0) -> dict[str, Any]:
        """A gateway's report."""
        url = f"http://127.0.0.1:{self.ports[number]}/healthz"
        headers = self.gateways[number].headers
        async with aiohttp.ClientSession(headers=headers) as client, client.get(url) as answer:
            told: dict[str, Any] = json.loads(await answer.text())
            return told

    async def says(self, part: str, begins: str, number: int = 0) -> None:
        """Wait until the report says so of a part."""

        async def said() -> bool:
            told = await self.health(number)
            return str({**told.get("detail", {}), **told}.get(part, "")).startswith(begins)

        await until_it(said, f"healthz says {part}: {begins}")


def logged(moot: Service, event: str) -> list[str]:
    """The lines of a gateway's log with an event."""
    if not (moot.folder / "moot.log").exists():
        return []
    return [line for line in moot.log().splitlines() if f'"event": "{event}"' in line]


@asynccontextmanager
async def machines(
    folder: Path,
    *,
    gateways: int = 1,
    workers: int = 2,
    agent: str = "obedient",
    table: str = "",
    access: str = OPEN,
    network: Network | None = None,
    **environment: str,
) -> AsyncIterator[Machines]:
    """Start them all. table, access: lines of [workers] and [access]. network: the first gateway is
    there. environment: the workers'."""
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    async with AsyncExitStack() as stack:
        socket = stack.enter_context(postgres.stopped_server())
        server = postgres.Server(socket)
        server.start()
        stack.callback(server.stop)
        url = await postgres.new_database(socket)
        slack = await stack.enter_async_context(SlackDouble.open())
        broker = Broker(folder / "g0" / "data")
        (folder / "g0").mkdir()
        house = Machines(folder, slack, server, url, broker)
        names = [f"w{n}" for n in range(1, workers + 1)]
        for name in names:
            broker.worker_key(name)
        broker.start()
        stack.callback(broker.kill)

        async def link(name: str, made: Any) -> Link:
            house.links[name] = await stack.enter_async_context(made)
            return house.links[name]

        host = network.host if network is not None else "127.0.0.1"
        to_slack = await link("slack", Link.to_port(int(slack.base.rpartition(":")[2]), host))
        slack.base = f"http://{host}:{to_slack.port}"

        for name in names:
            between = await link(f"{name}-broker", Link.to_port(broker.port))
            one = WorkerProcess(broker, folder, name, AGENTS, nats=_nats(between))
            house.workers[name] = one
            stack.callback(one.end, signal.SIGKILL)
            one.start(**{"MOOT_DEMO_PACE": "0.2", **environment})
        database = url.partition("@/")[2].partition("?")[0]
        for number in range(gateways):
            home = folder / f"g{number}"
            to_broker = await link(f"g{number}-broker", Link.to_port(broker.port, host))
            server_socket = Link.to_socket(f"{socket}/.s.PGSQL.5432", host)
            to_store = await link(f"g{number}-database", server_socket)
            house.ports.append(free_port())
            config = CONFIG.format(
                nats=_nats(to_broker),
                workers=table,
                access=access,
                slack=slack.api_url,
                agents=AGENTS,
            )
            store = f"postgresql://moot@{host}:{to_store.port}/{database}"
            moot = made(home, config, store, house.ports[-1], slack.secrets)
            _persona(home, agent)
            if number:
                shutil.copytree(folder / "g0" / "data" / FOLDER, home / "data" / FOLDER)
            if number == 0 and network is not None:
                moot.python = network.python
            house.gateways.append(moot)
            stack.push_async_callback(_stop, moot)
            await moot.begin()
            if number == 0:
                await moot.serving()
            else:
                await until(partial(logged, moot, "gateway.stands_by"), "it stands by")
        await slack.delivery.connected()
        await until(
            lambda: len(logged(house.gateways[0], "worker.heard")) >= workers, "workers are heard"
        )
        yield house


def _nats(link: Link) -> str:
    return f"nats://{link.host}:{link.port}"


def _persona(home: Path, agent: str) -> None:
    (home / "personas").mkdir(exist_ok=True)
    (home / "personas" / "ash.md").write_text(f"---\nagent: {agent}\nsandbox: off\n---\nBe ash.\n")


async def _stop(moot: Service) -> None:
    with suppress(ProcessLookupError, TimeoutError):
        await moot.kill()
