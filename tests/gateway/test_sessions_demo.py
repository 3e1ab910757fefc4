"""Sessions of a real program: it sleeps, it is resumed, and what it takes is told."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.cli.hooks import HookListener
from contract.chat import Room
from gateway.observability.metering import measure
from gateway.sessions.capacity import GIB, FixedCapacity, MemoryCapacity
from gateway.sessions.programs import Programs
from gateway.sessions.sessions import LiveSession, scope_folder
from gateway.sessions.slots import SessionSlots
from gateway.sessions.watcher import SessionWatcher
from gateway.settings.tables import AgentTable, SessionsTable
from gateway.web.listening.listener import serving_hooks
from tests.doubles.platform import said
from tests.doubles.processes import until_gone
from tests.doubles.running import Opened, gateway, until

Samples = dict[str, list[tuple[dict[str, str], float]]]


@asynccontextmanager
async def demo_gateway(tmp_path: Path, sessions: SessionsTable) -> AsyncIterator[Opened]:
    table = AgentTable(profile="demo", env={"MOOT_DEMO_PACE": "0"})
    async with HookListener.open(serving_hooks()) as hooks:
        programs = Programs({"scripted": table}, {"PATH": os.environ["PATH"]}, hooks)
        async with gateway(tmp_path, programs=programs, sessions=sessions) as moot:
            yield moot


async def ask(moot: Opened, text: str, room: str = "general") -> str:
    await moot.hear(said(f"@demo {text}", room=Room(f"fake:{room}", room)))
    await moot.settle()
    return moot.texts()[-1]


def pid_of(moot: Opened, room: str) -> int:
    [pid] = [s.agent.pid for s in moot.house.sessions.all() if s.room.name == room]
    assert pid is not None
    return pid


async def scrape(moot: Opened) -> Samples:
    text = (await moot.house.services.monitor.metrics()).decode()
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


async def test_it_goes_on_with_its_conversation_after_it_slept(tmp_path: Path) -> None:
    async with demo_gateway(tmp_path, SessionsTable()) as moot:
        await ask(moot, "echo first things first")
        pid = pid_of(moot, "general")
        [live] = moot.house.sessions.all()
        live.used_at -= timedelta(seconds=901)
        assert moot.house.sessions.look() == 1
        await until_gone(pid)
        told = await ask(moot, "history")
        assert told.startswith("Before this I was asked:")
        assert "echo first things first" in told
        assert pid_of(moot, "general") != pid


async def test_the_figures_tell_what_each_program_takes_and_forget_it_with_its_end(
    tmp_path: Path,
) -> None:
    async with demo_gateway(tmp_path, SessionsTable(most=2)) as moot:
        for room in ("a", "b", "c"):
            await ask(moot, "hello", room)
        found = await scrape(moot)
        names = {scope_folder(f"room:fake:{room}").rpartition("-")[2][:8] for room in "bc"}
        memory = found["moot_session_memory_bytes"]
        assert {labels["session"] for labels, _ in memory} == names
        assert {labels["persona"] for labels, _ in memory} == {"demo"}
        for labels, value in memory:  # a Python with little in it
            assert 4_000_000 < value < 200_000_000, labels
        for _, value in found["moot_session_cpu_seconds_total"]:
            assert 0 < value < 60
        assert found["moot_sessions"] == [({}, 2)]
        assert found["moot_sessions_asleep"] == [({}, 1)]
        assert found["moot_sessions_most"] == [({}, 2)]
        assert found["moot_session_starts_total"] == [({"program": "scripted", "how": "fresh"}, 3)]
        assert found["moot_session_ends_total"] == [({"program": "scripted", "why": "cap"}, 1)]
        await ask(moot, "hello", "a")
        found = await scrape(moot)
        starts = {labels["how"]: n for labels, n in found["moot_session_starts_total"]}
        assert starts == {"fresh": 3, "resumed": 1}
        await moot.house.sessions.close()
        found = await scrape(moot)
        assert "moot_session_memory_bytes" not in found
        assert found["moot_sessions"] == [({}, 0)]


async def test_what_a_program_started_counts_with_it_and_what_is_gone_does_not() -> None:
    grow = "import subprocess, sys; x = b'x' * 30_000_000; print(len(x), flush=True); "
    code = grow + "subprocess.Popen([sys.executable, '-c', sys.argv[1]]).wait()"
    child = grow + "sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, child], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdin
        assert program.stdout
        for _ in range(2):
            await asyncio.to_thread(program.stdout.readline)
        taken = measure([program.pid, 2**22 + 1])
        assert list(taken) == [program.pid]
        alone = psutil.Process(program.pid).memory_info().rss
        assert taken[program.pid].memory_bytes > alone + 30_000_000
        program.stdin.close()
        program.wait()
    assert measure([program.pid]) == {}


async def test_where_nobody_said_how_many_as_many_live_as_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.app.sessions.memory_bytes", lambda: 3 * GIB)
    async with demo_gateway(tmp_path, SessionsTable()) as moot:
        pool = moot.house.sessions
        for room in "abc":
            await ask(moot, "hello", room)
        assert (pool.running, pool.most) == (3, 3)  # nothing is known of what they take
        watcher = SessionWatcher(pool.all, tmp_path, pool.measured, pool.unmeasured)
        turns = [live.turns for live in pool.all()]
        for live in pool.all():
            live.turns = 0
        await watcher.look()
        assert pool.most == 3  # who has ended no turn may take much in it
        for live, before in zip(pool.all(), turns, strict=True):
            live.turns = before
        await ask(moot, "hello again", "c")
        fourth = asyncio.create_task(ask(moot, "hello", "d"), name="the fourth")
        await until(lambda: pool.waiting == 1)
        assert pool.running == 3  # none sleeps for a guess: what they take is looked at first
        watching = asyncio.create_task(watcher.run(), name="watcher")
        await fourth
        await ask(moot, "hello", "e")
        watching.cancel()
        assert pool.running == 5
        assert pool.most > 10
        pool.measured({"scripted": [GIB]})  # they have grown
        assert [live.room.name for live in pool.all()] == ["d", "e"]  # used last
        assert await ask(moot, "echo still here", "a") == "still here"
        assert pool.running == 2
        await pool.close()


async def test_a_program_that_died_meanwhile_tells_nothing_of_what_others_take(
    tmp_path: Path,
) -> None:
    async with demo_gateway(tmp_path, SessionsTable()) as moot:
        await ask(moot, "hello")
        [live] = moot.house.sessions.all()
        told: list[Mapping[str, Sequence[int]]] = []
        watcher = SessionWatcher(lambda: [live], tmp_path, told.append)
        await watcher.look()
        pid = pid_of(moot, "general")
        os.kill(pid, signal.SIGKILL)
        await until_gone(pid)
        dead = SessionWatcher(lambda: [live], tmp_path, told.append)
        await dead.look()
        assert [list(one) for one in told] == [["scripted"], []]


async def test_programs_are_looked_at_while_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.sessions.watcher.LOOK_S", 0.01)
    async with demo_gateway(tmp_path, SessionsTable()) as moot:
        pool, looks = moot.house.sessions, list[int]()

        def held() -> list[LiveSession]:
            looks.append(len(pool.all()))
            return pool.held()

        watcher = SessionWatcher(held, tmp_path, begun=pool.begun)
        watching = asyncio.create_task(watcher.run(), name="watcher")
        await asyncio.sleep(0.2)
        idle = len(looks)
        await asyncio.sleep(0.2)
        assert len(looks) == idle  # there is no session: nothing is looked at
        await ask(moot, "hello")
        await until(lambda: looks[-20:] == [1] * 20)
        os.kill(pid_of(moot, "general"), signal.SIGKILL)  # its agent may begin it again by itself
        await until(lambda: looks[-20:] == [0] * 20)
        await pool.close()
        await until(lambda: looks[-1] == 0)
        await asyncio.sleep(0.2)
        idle = len(looks)
        await asyncio.sleep(0.2)
        assert len(looks) == idle
        await ask(moot, "hello again")
        await until(lambda: looks[-20:] == [1] * 20)
        watching.cancel()
        await pool.close()


async def test_who_finds_no_place_is_told_once_it_is_known_how_many_there_are() -> None:
    known, told = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        told.set()

    async def until_known() -> None:
        await known.wait()

    slots = SessionSlots(FixedCapacity(1), until_known, lambda: False)
    await slots.take("demo", waits)
    second = asyncio.create_task(slots.take("demo", waits), name="the second")
    await until(lambda: slots.waiting == 1)
    await asyncio.sleep(0.05)
    assert not told.is_set()
    known.set()
    await told.wait()
    slots.leave("demo")
    await second


async def test_where_nobody_looks_a_place_is_waited_for_no_longer_than_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.app.sessions.memory_bytes", lambda: 3 * GIB)
    monkeypatch.setattr("gateway.sessions.pool.GUESS_S", 0.05)
    async with demo_gateway(tmp_path, SessionsTable()) as moot:
        for room in "abcd":
            assert await ask(moot, f"echo {room}", room) == room
        assert moot.house.sessions.running == 3


def test_small_and_large_machines_have_sensible_caps() -> None:
    of = {n: MemoryCapacity(n * GIB) for n in (1, 4, 24, 512)}
    assert [one.most(Counter()) for one in of.values()] == [2, 4, 24, 64]
    for n, one in of.items():
        most = one.most(Counter())
        assert one.fits(Counter(claude=most)), n
        assert not one.fits(Counter(claude=most + 1)), n


def test_a_program_counts_with_the_mean_of_its_name_and_others_with_a_gib() -> None:
    capacity = MemoryCapacity(24 * GIB)
    capacity.measured({"claude": [200_000_000, 400_000_000], "demo": [10_000_000]})
    assert capacity.most(Counter(claude=2)) == 64
    assert capacity.most(Counter(demo=40, codex=1)) == 41 + 22
    assert capacity.fits(Counter(claude=40, codex=10))
    assert not capacity.fits(Counter(claude=40, codex=11))
    capacity.measured({"demo": [10_000_000], "claude": [20_000_000]})  # it began anew
    assert not capacity.fits(Counter(claude=40, codex=11))
    capacity.measured({"codex": [8 * GIB, 8 * GIB]})
    assert capacity.most(Counter(codex=1)) == 2
    assert not capacity.fits(Counter(codex=2, claude=15))
    assert capacity.fits(Counter(codex=2))
