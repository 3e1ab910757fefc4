"""`moot run` and two `moot worker run` with a real broker: what dies, and what people get."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.doubles.credentials import program_at
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import Message, Text
from tests.doubles.obedience import furnish, messages, say
from tests.doubles.processes import kill_below
from tests.doubles.service import Service, service
from tests.doubles.workers import Broker, WorkerProcess
from tests.test_claude_whole import CLAUDE, KEY, installed

WORKS = (
    "echo {name} | tee -a {folder}/runs; while [ ! -e {folder}/go ]; do sleep 0.05; done; echo done"
)


async def until(condition: Callable[[], bool], seconds: float = 40) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.05)


@dataclass
class House:
    """A gateway, its broker, and two machines."""

    folder: Path
    moot: Service
    broker: Broker
    workers: dict[str, WorkerProcess]

    def runs(self) -> int:
        """How often the command was begun, anywhere."""
        path = self.folder / "runs"
        return len(path.read_text().split()) if path.exists() else 0

    async def ask(self, text: str, who: str = "ana") -> str:
        told = await say(self.moot.url, who, text)
        return str(told["replies"][0]["text"])

    async def begin_work(self) -> WorkerProcess:
        """Ana's agent works until `go` is there; returns the machine that it works on."""
        command = WORKS.format(name="run", folder=self.folder)
        await say(self.moot.url, "ana", f"please <<{command}>>", wait=None)
        await until(lambda: self.runs() == 1)
        return self.busy()

    def busy(self) -> WorkerProcess:
        """The machine on which the newest session was opened."""
        word = '"worker": "'
        lines = [line for line in self.moot.log().splitlines() if "session.opened" in line]
        name = lines[-1].partition(word)[2].partition('"')[0]
        return self.workers[name]

    async def answered(self, count: int = 2) -> list[str]:
        """Ana's room, once it has so many messages, and a moment later still."""
        async with asyncio.timeout(60):
            while len(await messages(self.moot.url, "ana")) < count:
                await asyncio.sleep(0.1)
        await asyncio.sleep(1.5)  # for an answer too many
        return await messages(self.moot.url, "ana")


@asynccontextmanager
async def house(
    folder: Path,
    agent: str = "obedient",
    described: str = "",
    pool: tuple[str, ...] = (),
    **environment: str,
) -> AsyncIterator[House]:
    """described: tables of agents beside. pool: of workers, for the persona. environment: the
    workers'."""
    config = furnish(folder).replace("[access]", f"{described}[access]")
    if agent != "obedient":
        front = f"agent: {agent}\n" + ("workers: gpu\n" if pool else "")
        (folder / "personas" / "ash.md").write_text(f"---\n{front}---\nYou are ash.\n")
    broker = Broker(folder / "data")
    names = ("w1", "w2")
    for name in names:
        broker.worker_key(name)
    broker.start()
    agents = config[config.index("[agents.obedient]") : config.index("[access]")]
    workers = {name: WorkerProcess(broker, folder, name, agents) for name in names}
    try:
        for one in workers.values():
            one.start(MOOT_DEMO_PACE="0", **environment)
        table = f'[workers]\nnats = "{broker.url}"\n'
        if pool:
            table += f"[workers.pools.gpu]\nnames = {json.dumps(pool)}\n"
        async with service(folder, config + table) as moot:
            await until(lambda: moot.log().count("worker.heard") == 2)
            yield House(folder, moot, broker, workers)
    finally:
        for one in workers.values():
            one.end(signal.SIGKILL)
        broker.kill()


@asynccontextmanager
async def house_of_claude(folder: Path, api: MessagesAPI) -> AsyncIterator[House]:
    """The same with the real Claude Code."""
    installed()
    described = (
        f'[agents.claude-code]\nprofile = "claude-code"\ncommand = "{CLAUDE}"\n'
        f'env = {{ ANTHROPIC_BASE_URL = "{api.url}" }}\n'
    )
    async with house(folder, "claude-code", described, ANTHROPIC_API_KEY=KEY) as moot:
        yield moot


async def test_an_answer_from_another_machine_is_exact(tmp_path: Path) -> None:
    async with house(tmp_path, "demo") as moot:
        said = "ein “Zitat”, `Code` & <Zeichen>\n\n- 日本語\n- 👩‍👩‍👧‍👦"
        assert await moot.ask(f"echo {said}") == said
        there = moot.busy().name
        assert f", the one of now, on {there}" in await moot.ask("!sessions")
        async with program_at(moot.moot.url) as client:
            async with client.get("/api/sessions") as response:
                assert [one["worker"] for one in (await response.json())["sessions"]] == [there]
            async with client.get("/api/admin/sessions") as response:
                assert [one["worker"] for one in (await response.json())["sessions"]] == [there]
            async with client.get("/metrics") as response:
                figures = await response.text()
        for line in (
            f'moot_worker_up{{worker="{there}"}} 1.0',
            f'moot_worker_seats{{worker="{there}"}} 4.0',
            f'moot_worker_sessions{{worker="{there}"}} 1.0',
            "moot_worker_hop_seconds_count 1.0",
        ):
            assert line in figures


async def test_a_persona_works_on_its_pool_alone_also_when_that_is_full(tmp_path: Path) -> None:
    async with house(tmp_path, "demo", pool=("w2", "w9")) as moot:
        for who in ("ana", "ben", "cem", "dua", "eve"):  # w2 has four seats
            assert await moot.ask("echo here", who) == "here"
            assert moot.busy().name == "w2"
        assert '"why": "cap"' in moot.moot.log()
        assert "here" in await moot.ask("history", "ana")  # whose session it was


async def test_a_broker_of_moots_own_serves_a_worker_that_was_there_before_it(
    tmp_path: Path,
) -> None:
    config = furnish(tmp_path)
    (tmp_path / "personas" / "ash.md").write_text("---\nagent: demo\n---\nYou are ash.\n")
    broker = Broker(tmp_path / "data")
    broker.worker_key("w1")
    worker = WorkerProcess(broker, tmp_path, "w1")
    worker.start(MOOT_DEMO_PACE="0")
    try:
        table = f'[workers]\nnats = "embedded://127.0.0.1:{broker.port}"\n'
        async with service(tmp_path, config + table) as moot:
            told = await say(moot.url, "ana", "echo it is there")
            assert told["replies"][0]["text"] == "it is there"
    finally:
        worker.end()


async def test_a_killed_machines_turn_is_begun_again_on_the_other_and_answered_once(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as moot:
        first = await moot.begin_work()
        first.end(signal.SIGKILL)
        await until(lambda: moot.runs() == 2, 12)
        assert moot.busy() is not first
        (tmp_path / "go").touch()
        assert (await moot.answered())[1:] == ["run | done"]
        assert moot.runs() == 2


async def test_a_turn_whose_two_machines_died_is_told_and_asked_again_by_retry(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as moot:
        first = await moot.begin_work()
        first.end(signal.SIGKILL)
        await until(lambda: moot.runs() == 2, 12)
        moot.busy().end(signal.SIGKILL)
        [_, told] = await moot.answered()
        assert told.startswith("⚠️")
        assert moot.runs() == 2  # nothing begins a third time by itself
        first.start(MOOT_DEMO_PACE="0")
        await until(lambda: moot.moot.log().count("worker.heard") == 3)
        (tmp_path / "go").touch()
        await say(moot.moot.url, "ana", "!retry", wait=None)
        assert (await moot.answered(4))[2:] == ["!retry", "run | done"]
        assert moot.runs() == 3


async def test_a_conversation_goes_on_on_another_machine(tmp_path: Path) -> None:
    async with house(tmp_path, "demo") as moot:
        await moot.ask("echo the first word")
        first = moot.busy()
        first.end(signal.SIGKILL)
        await until(lambda: "worker.lost" in moot.moot.log())
        async with program_at(moot.moot.url) as client, client.get("/metrics") as response:
            figures = await response.text()
        assert f'moot_worker_losses_total{{worker="{first.name}"}} 1.0' in figures
        assert f'moot_worker_up{{worker="{first.name}"}} 0.0' in figures
        told = await moot.ask("history")
        assert moot.busy() is not first
        assert "the first word" in told


async def test_claude_code_goes_on_with_its_conversation_on_another_machine(tmp_path: Path) -> None:
    async with MessagesAPI.open() as api:
        api.when("cobalt", "I'll keep it in mind.")
        api.when("again", "As you said.")
        async with house_of_claude(tmp_path, api) as moot:
            assert await moot.ask("the word is cobalt") == "I'll keep it in mind."
            first = moot.busy()
            first.end(signal.SIGKILL)
            await until(lambda: "worker.lost" in moot.moot.log())
            assert await moot.ask("say it again") == "As you said."
            assert moot.busy() is not first
            assert '"resumed": true' in moot.moot.log()
        last = api.turns[-1]
        assert "I'll keep it in mind." in str(last.body["messages"][:-1])


async def test_claude_code_works_on_while_the_gateway_is_begun_again(tmp_path: Path) -> None:
    async with MessagesAPI.open() as api:
        api.when("cobalt", Message((Text("I'll keep it in mind."),), hold=0))
        api.when("again", "As you said.")
        async with house_of_claude(tmp_path, api) as moot:
            await say(moot.moot.url, "ana", "the word is cobalt", wait=None)
            await asyncio.wait_for(api.holding.wait(), 30)
            await moot.moot.kill()
            await moot.moot.start()
            await until(lambda: "session.adopted" in moot.moot.log())
            api.release.set()
            assert (await moot.answered())[1:] == ["I'll keep it in mind."]
            assert await moot.ask("say it again") == "As you said."
        _, last = api.turns  # nothing was asked twice
        assert "I'll keep it in mind." in str(last.body["messages"][:-1])


async def test_a_machine_that_wakes_up_late_adds_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as moot:
        first = await moot.begin_work()
        first.send(signal.SIGSTOP)
        await until(lambda: moot.runs() == 2, 12)
        (tmp_path / "go").touch()
        assert (await moot.answered())[1:] == ["run | done"]
        first.send(signal.SIGCONT)
        await until(lambda: moot.moot.log().count("worker.heard") == 3)
        assert (await moot.answered())[1:] == ["run | done"]
        assert moot.runs() == 2


async def test_a_broker_that_dies_and_comes_back_repeats_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as moot:
        await moot.begin_work()
        moot.broker.kill()
        (tmp_path / "go").touch()
        await asyncio.sleep(2)
        moot.broker.start()
        assert (await moot.answered())[1:] == ["run | done"]
        assert moot.runs() == 1


async def test_an_answer_outlives_the_gateway_that_asked(tmp_path: Path) -> None:
    async with house(tmp_path) as moot:
        await moot.begin_work()
        await moot.moot.kill()
        (tmp_path / "go").touch()
        await asyncio.sleep(1)
        await moot.moot.start()
        assert (await moot.answered())[1:] == ["run | done"]
        assert moot.runs() == 1
        with sqlite3.connect(tmp_path / "data" / "moot.db") as base:
            [(record,)] = base.execute("SELECT record FROM turns WHERE kind = 'ask'")
        assert json.loads(record).get("attempt", 1) == 1  # nothing was asked again


async def test_a_machine_that_is_told_to_end_finishes_what_it_works_on(tmp_path: Path) -> None:
    async with house(tmp_path) as moot:
        worker = await moot.begin_work()
        worker.send(signal.SIGTERM)
        await until(lambda: "worker.draining" in worker.log())
        (tmp_path / "go").touch()
        assert (await moot.answered())[1:] == ["run | done"]
        assert worker.process is not None
        assert await asyncio.to_thread(worker.process.wait, 20) == 0
        assert await moot.ask("<<echo next>>") == "next"
        assert moot.busy() is not worker
        assert moot.runs() == 1


async def test_a_deaf_machine_holds_still_and_goes_on_when_it_hears_again(tmp_path: Path) -> None:
    async with house(tmp_path) as moot:
        worker = await moot.begin_work()
        [shell] = found(f"{tmp_path}/go", below=worker)
        moot.broker.kill()
        await until(lambda: state_of(shell) == "T", 10)
        moot.broker.start()
        await until(lambda: state_of(shell) != "T", 10)
        (tmp_path / "go").touch()
        assert (await moot.answered())[1:] == ["run | done"]
        assert moot.runs() == 1


def found(word: str, below: WorkerProcess) -> list[int]:
    """The shells below a worker that have this word in their command."""
    assert below.process is not None
    rows = psutil.Process(below.process.pid).children(recursive=True)
    return [row.pid for row in rows if row.name() == "sh" and word in " ".join(row.cmdline())]


def state_of(pid: int) -> str:
    """As /proc has it: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_a_program_that_an_agent_begins_again_is_held_to_its_limits(tmp_path: Path) -> None:
    hog = f"{sys.executable} -c 'x = b\"x\" * 300_000_000; import time; time.sleep(30)'"
    async with house(tmp_path, described="[sandbox]\nmemory_gb = 0.1\n") as at:
        assert await at.ask("please <<echo one>>") == "one"
        worker = at.busy().process
        assert worker is not None
        kill_below(worker.pid)
        await asyncio.sleep(3)  # nothing lives: the worker looks at nothing
        assert await at.ask("please <<echo two>>") == "two"
        assert "used more than 100 MB of memory" in await at.ask(f"please <<{hog}>>")
