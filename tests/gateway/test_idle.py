"""Ends of sessions: told once an idle period, also after a restart, and at once by `!new`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract.chat import Room
from gateway.core import sql_sessions
from gateway.core.clock import clock
from gateway.core.ledger import SessionKey, TurnRequest
from gateway.core.sql_ledger import SqlLedger
from gateway.remembering.idle import LOOK_S, IdleSessions
from gateway.settings.tables import MemoryTable
from memory.layers import EndedSession
from store.database import Store
from store.transcript import Transcript
from tests.doubles.model import ScriptedModel
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway, until

HOUR = timedelta(hours=1)


@dataclass
class Watched:
    """An idle watch over a real ledger, with a clock set by hand and a memory that records."""

    store: Store
    now: datetime = datetime(2026, 4, 21, 12, 0, tzinfo=UTC)
    told: list[EndedSession] = field(default_factory=list)
    learning: list[asyncio.Future[None]] = field(default_factory=list)
    at_once: bool = True  # everything is learned as soon as it is told
    busy: set[SessionKey] = field(default_factory=set)
    slept: list[float] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.transcript = Transcript(self.store)
        self.ledger = SqlLedger(self.store, self.transcript)
        self.idle = IdleSessions(
            ledger=self.ledger,
            remember=self._remember,
            busy=lambda key: key in self.busy,
            spawn=lambda work, name: self.tasks.append(asyncio.create_task(work, name=name)),
            idle_s=3600,
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    def _remember(self, session: EndedSession) -> asyncio.Future[None]:
        self.told.append(session)
        learned = asyncio.get_running_loop().create_future()
        self.learning.append(learned)
        if self.at_once:
            learned.set_result(None)
        return learned

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == 3:
            raise asyncio.CancelledError
        self.now += timedelta(seconds=seconds)

    async def used(self, persona: str = "demo", room: str = "general", at: int = 0) -> str:
        """A session whose last turn ended `at` minutes from the beginning."""
        scope = f"room:fake:{room}"
        inbound = said("@demo hi", room=Room(f"fake:{room}", room))
        wanted = TurnRequest(f"t{inbound.message_id}", persona, "fake", None)
        await self.ledger.accept(inbound, scope, [wanted], 0, self.now)
        when = datetime(2026, 4, 21, 12, 0, tzinfo=UTC) + timedelta(minutes=at)
        await self.ledger.keep_session(SessionKey(persona, scope), "scripted", "s1", when)
        return scope

    async def noted(self) -> None:
        """Wait for what is on disk soon."""
        await asyncio.gather(*self.tasks)
        await self.store.write(lambda connection: None)


@asynccontextmanager
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        yield Watched(store)


async def test_a_session_ends_after_its_hour_and_once(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        at.now += HOUR - timedelta(seconds=1)
        assert await at.idle.look() == 0
        at.now += timedelta(seconds=1)
        assert await at.idle.look() == 1
        assert await at.idle.look() == 0
        assert at.told == [EndedSession(scope, "demo", Room("fake:general", "general"), "s1")]


async def test_a_session_that_is_used_again_ends_again(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        at.now += HOUR
        await at.idle.look()
        at.ledger.keep_session(SessionKey("demo", scope), "scripted", "s1", at.now, later=True)
        await at.noted()
        assert await at.idle.look() == 0
        at.now += HOUR
        assert await at.idle.look() == 1


async def test_a_session_whose_use_is_not_on_disk_yet_is_not_idle(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        key = SessionKey("demo", await at.used())
        at.now += HOUR
        at.ledger.used_again(key, "scripted", "s1", at.now)
        assert await at.idle.look() == 0
        at.ledger.note_uses()
        await at.noted()
        assert await at.idle.look() == 0
        assert await at.ledger.used_first() == at.now


async def test_uses_come_to_disk_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_sessions, "USES_NOTED_S", 0.01)
    async with watched(tmp_path) as at:
        key = SessionKey("demo", await at.used())
        for _ in range(3):
            at.now += HOUR
            at.ledger.used_again(key, "scripted", "s1", at.now)
        while await at.ledger.used_first() != at.now:
            await asyncio.sleep(0.01)


async def test_a_session_that_is_left_is_not_taken_up_by_a_late_note(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        key = SessionKey("demo", await at.used())
        at.ledger.used_again(key, "scripted", "s1", at.now)
        await at.ledger.retire_session(key)
        at.ledger.note_uses()
        await at.noted()
        assert await at.ledger.agent_session(key, "scripted") is None


async def test_an_end_is_told_again_when_a_crash_left_it_unlearned(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        await at.used()
        at.now += HOUR
        at.at_once = False
        task = asyncio.create_task(at.idle.look())
        await until(lambda: bool(at.learning))
        at.learning[0].cancel()
        await asyncio.wait([task])
    async with watched(tmp_path) as at:
        at.now += HOUR
        assert await at.idle.look() == 1
    async with watched(tmp_path) as at:
        at.now += HOUR * 2
        assert await at.idle.look() == 0


async def test_a_turn_while_an_end_is_learned_keeps_the_session_open(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        at.now += HOUR
        at.at_once = False
        task = asyncio.create_task(at.idle.look())
        await until(lambda: bool(at.learning))
        at.ledger.keep_session(SessionKey("demo", scope), "scripted", "s1", at.now, later=True)
        at.learning[0].set_result(None)
        await task
        await at.noted()
        at.now += HOUR
        at.at_once = True
        assert await at.idle.look() == 1


async def test_a_session_with_turns_that_wait_or_run_is_not_idle(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        at.busy.add(SessionKey("demo", scope))
        at.now += HOUR
        assert await at.idle.look() == 0
        at.busy.clear()
        assert await at.idle.look() == 1


async def test_what_ended_while_nobody_looked_is_told_some_at_a_time(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        for n in range(7):
            await at.used(room=f"r{n}")
        at.now += HOUR * 100
        at.at_once = False
        task = asyncio.create_task(at.idle.look())
        for done in range(7):
            await until(lambda done=done: len(at.learning) == min(done + 2, 7))  # type: ignore[misc]
            await at.noted()  # a third one would have begun by now
            assert len(at.learning) == min(done + 2, 7)
            at.learning[done].set_result(None)
        assert await task == 7


async def test_it_looks_when_the_next_one_is_due_and_every_minute(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        await at.used()
        at.now += HOUR - timedelta(seconds=75)
        await asyncio.wait([asyncio.create_task(at.idle.run())])
        assert at.slept == [LOOK_S, 15, LOOK_S]
        assert len(at.told) == 1


async def test_a_failing_look_is_not_the_last_one(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        await at.used()
        at.now += HOUR
        calls = []

        def fails(key: SessionKey) -> bool:
            calls.append(key.persona)
            if len(calls) == 1:
                raise ValueError
            return False

        at.idle = IdleSessions(
            ledger=at.ledger,
            remember=at._remember,
            busy=fails,
            spawn=lambda work, name: at.tasks.append(asyncio.create_task(work, name=name)),
            idle_s=3600,
            clock=lambda: at.now,
            sleep=at._sleep,
        )
        await asyncio.wait([asyncio.create_task(at.idle.run())])
        assert len(at.told) == 1


async def test_a_retired_session_is_told_once_and_never_resumed(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        ended = await at.ledger.retire_session(SessionKey("demo", scope))
        assert ended is not None
        assert await at.ledger.retire_session(SessionKey("demo", scope)) is None
        assert await at.ledger.agent_session(SessionKey("demo", scope), "scripted") is None
        at.idle.end(ended)
        await at.noted()
        at.now += HOUR
        assert await at.idle.look() == 0
        assert len(at.told) == 1


async def test_an_end_by_new_that_a_crash_left_unlearned_is_told_when_it_is_idle(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        await at.ledger.retire_session(SessionKey("demo", scope))
        at.now += HOUR
        assert await at.idle.look() == 1
        assert await at.idle.look() == 0


async def test_an_idle_session_that_ended_is_not_ended_by_new(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        scope = await at.used()
        at.now += HOUR
        await at.idle.look()
        assert await at.ledger.retire_session(SessionKey("demo", scope)) is None


# ── The whole way ───────────────────────────────────────────────────────────────────────


async def learned(moot: Opened) -> None:
    await moot.settle()
    await until(lambda: not moot.house.memories.layers.learning())


async def idle(moot: Opened, count: int) -> None:
    """Wait until so many sessions are idle, and no more than these have not ended yet."""
    unused = timedelta(milliseconds=1)
    async with asyncio.timeout(20):
        while len(await moot.house.ledger.idle_sessions(clock() - unused)) != count:
            await asyncio.sleep(0.005)


async def test_a_session_idle_over_a_restart_is_summarised_and_lives_on(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo the build is red"))
        await learned(moot)
    model = ScriptedModel(rest="The build was red.")
    async with gateway(tmp_path, model=model, memory=MemoryTable(idle_s=0.001)) as moot:
        assert await moot.house.idle.look() == 1
        assert await moot.house.memories.episodes.covered("room:fake:general")
        await moot.hear(said("@demo and now?"))
        await learned(moot)
        assert moot.programs.launches[0].session_id == "s1"
        assert "The build was red.\n" in moot.programs.prompts[0]


async def test_an_idle_sessions_program_goes_on(tmp_path: Path) -> None:
    async with gateway(tmp_path, memory=MemoryTable(idle_s=0.001)) as moot:
        await moot.hear(said("@demo hi"))
        await learned(moot)
        await idle(moot, 1)
        assert await moot.house.idle.look() == 1
        assert moot.programs.agents[0].alive()
        await moot.hear(said("@demo still there?"))
        await learned(moot)
        assert len(moot.programs.agents) == 1


async def test_new_of_one_persona_ends_that_ones_session_alone(tmp_path: Path) -> None:
    model = ScriptedModel(rest="Talk.")
    async with gateway(
        tmp_path, model=model, personas=("demo", "other"), memory=MemoryTable(idle_s=0.001)
    ) as moot:
        await moot.hear(said("@demo hi"))
        await moot.hear(said("@other hi"))
        await learned(moot)
        await moot.hear(said("@demo !new demo"))
        await learned(moot)
        await idle(moot, 1)
        assert await moot.house.idle.look() == 1  # the other's


async def test_new_before_any_turn_ends_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(rest="Talk.")
    async with gateway(tmp_path, model=model) as moot:
        await moot.hear(said("@demo !new"))
        await learned(moot)
        assert model.asked == []
