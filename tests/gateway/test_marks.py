"""Acknowledgements on people's messages."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from adapters.agent import Reply
from bots.bot import PlatformCapabilities, Reaction
from contract.chat import Deleted, Room
from contract.errors import AgentError, PlatformError
from gateway.core.events import AppEvent, TurnChanged
from gateway.settings.access import AccessTable
from gateway.settings.tables import SessionsTable, TurnsTable
from gateway.turns import progress
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

DM = Room("fake:d1", "Ash", "dm")
OPEN = AccessTable(rooms="open", dms="open")


class Gate:
    """A script whose answers wait until it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.begun = 0

    async def __call__(self, prompt: str, reply: Reply) -> str:
        self.begun += 1
        await self.opened.wait()
        return "done"


@asynccontextmanager
async def gated(tmp_path: Path, **more: object) -> AsyncIterator[tuple[Opened, Gate]]:
    gate = Gate()
    programs = ScriptedPrograms(gate)
    async with gateway(tmp_path, programs=programs, access=OPEN, **more) as moot:  # type: ignore[arg-type]
        yield moot, gate


async def test_a_slow_answer_is_marked_as_worked_on_and_then_as_done(tmp_path: Path) -> None:
    async with gated(tmp_path) as (moot, gate):
        await moot.hear(said("@demo hello", message_id="q1"))
        await until(lambda: moot.bot.marks == [("q1", "working")])
        gate.opened.set()
        await until(lambda: moot.bot.marks == [("q1", "working"), ("q1", "done")])
        assert moot.texts() == ["done"]


async def test_a_quick_answer_is_marked_once(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo hello", message_id="q1"))
        await until(lambda: moot.bot.marks == [("q1", "done")])
        await moot.hear(said("nobody is asked"))
        await moot.hear(said("!help"))
        await moot.hear(said("@demo and now?", message_id="q2"))
        await until(lambda: moot.bot.marks == [("q1", "done"), ("q2", "done")])


async def test_a_question_that_waits_goes_through_all_its_marks(tmp_path: Path) -> None:
    async with gated(tmp_path) as (moot, gate):
        await moot.hear(said("@demo one", message_id="q1"))
        await moot.hear(said("@demo two", message_id="q2"))
        await until(lambda: len(moot.bot.marks) == 2)
        gate.opened.set()
        await until(lambda: len(moot.bot.marks) == 4)
        second = [mark for message, mark in moot.bot.marks if message == "q2"]
        assert second == ["waiting", "done"]
        assert moot.bot.marks[0] == ("q2", "waiting")


async def test_a_failure_is_marked_as_one(tmp_path: Path) -> None:
    programs = ScriptedPrograms()
    programs.failures.append(AgentError("missing", "not there", say="Install it."))
    bot = FakeBot()
    async with gateway(tmp_path, programs=programs, bot=bot) as moot:
        await moot.hear(said("@demo hello", message_id="q1"))
        await until(lambda: bot.marks == [("q1", "failed")])
        bot.faults.append(PlatformError("archived", outcome="refused"))
        await moot.hear(said("@demo hello", message_id="q2"))
        await until(lambda: bot.marks[1:] == [("q2", "failed")])


async def test_a_message_of_two_turns_is_done_when_both_are(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        if "You are: @slow" in prompt:
            await gate.wait()
        else:
            await until(lambda: bot.marks == [("q1", "working")])
        return "done"

    bot = FakeBot()
    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, bot=bot, programs=programs, personas=("quick", "slow")) as moot:
        await moot.hear(said("@quick @slow hello", message_id="q1"))
        await until(lambda: len(moot.texts()) == 1)
        assert bot.marks == [("q1", "working")]
        gate.set()
        await until(lambda: bot.marks == [("q1", "working"), ("q1", "done")])


@pytest.mark.parametrize(
    ("shown", "expected"), [("waiting", [("q2", "waiting"), ("q2", "done")]), ("off", [])]
)
async def test_fewer_marks_are_shown_where_the_configuration_says_so(
    tmp_path: Path, shown: Literal["waiting", "off"], expected: list[tuple[str, Reaction]]
) -> None:
    async with gated(tmp_path, turns=TurnsTable(marks=shown)) as (moot, gate):
        await moot.hear(said("@demo one", message_id="q1"))
        await moot.hear(said("@demo two", message_id="q2"))
        await until(lambda: gate.begun == 1 and moot.bot.marks == expected[:1])
        gate.opened.set()
        await moot.settle()
        await until(lambda: moot.bot.marks == expected)


async def test_a_platform_without_reactions_is_not_asked_for_any(tmp_path: Path) -> None:
    bot = FakeBot(capabilities=PlatformCapabilities(draft_interval_s=None, reactions=False))
    async with gateway(tmp_path, bot=bot) as moot:
        await moot.hear(said("@demo hello"))
        await moot.settle()
        assert bot.marks == []


async def test_two_hundred_questions_at_once_do_not_flood_the_platform(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        for number in range(200):
            await moot.hear(said(f"@demo {number}"))
        await moot.settle()
        assert len(moot.texts()) == 200
        assert 0 < len(moot.bot.marks) < 2 * (progress.AT_ONCE + progress.FEW)


async def test_a_mark_that_is_refused_or_hangs_holds_nothing_up(tmp_path: Path) -> None:
    class Broken(FakeBot):
        async def react(self, place: object, message_id: str, mark: Reaction) -> None:
            self.marks.append((message_id, mark))
            if message_id == "q2":
                await asyncio.Event().wait()
            raise PlatformError("no reactions here", outcome="refused")

    bot = Broken()
    async with gateway(tmp_path, bot=bot) as moot:
        for name in ("q1", "q2", "q3"):
            await moot.hear(said("@demo hello", message_id=name))
            await moot.settle()
        await until(lambda: bot.marks == [("q1", "done"), ("q2", "done")])
        assert len(moot.texts()) == 3


def told_of(happenings: Sequence[AppEvent], turn_id: str) -> list[str]:
    """What was told until a turn changed; of other turns nothing."""
    types: list[str] = []
    for happening in happenings:
        if not isinstance(happening, TurnChanged):
            types.append(happening.type)
        elif happening.turn.id == turn_id:
            return [*types, happening.type]
    return types


@pytest.mark.parametrize(("room", "thread"), [(ROOM, None), (ROOM, "t1"), (DM, None)])
async def test_a_message_deleted_while_it_waits_is_dropped_at_once(
    tmp_path: Path, room: Room, thread: str | None
) -> None:
    async with gated(tmp_path) as (moot, gate):
        await moot.hear(said("@demo one", message_id="q1", room=room, thread_id=thread))
        for name in ("q2", "q3"):
            await moot.hear(said(f"@demo {name}", message_id=name, room=room, thread_id=thread))
        await until(lambda: ("q3", "waiting") in moot.bot.marks)
        [_, second, _] = await moot.house.ledger.open_turns()
        happenings: list[AppEvent] = []
        moot.house.services.events.listeners.add(happenings.append)
        await moot.receive(Deleted(room, "q2"))
        states = [turn.state for turn in await moot.house.ledger.open_turns()]
        assert len(states) == 2
        gate.opened.set()
        await moot.settle()
        await until(lambda: ("q3", "done") in moot.bot.marks)
        assert moot.texts() == ["done", "done"]
        assert ("q2", "done") not in moot.bot.marks
        assert ("q2", "failed") not in moot.bot.marks
        assert told_of(happenings, second.id) == ["deleted", "turn"]
        assert not any("q2" in prompt for prompt in moot.programs.prompts)


async def test_a_message_deleted_while_its_session_waits_for_a_seat_is_dropped(
    tmp_path: Path,
) -> None:
    async with gated(tmp_path, sessions=SessionsTable(most=1)) as (moot, gate):
        await moot.hear(said("@demo one", message_id="q1"))
        await until(lambda: gate.begun == 1)
        await moot.hear(said("two", message_id="q2", room=DM))
        await until(lambda: ("q2", "waiting") in moot.bot.marks)
        await moot.receive(Deleted(DM, "q2"))
        async with asyncio.timeout(20):
            while len(await moot.house.ledger.open_turns()) == 2:
                await asyncio.sleep(0.005)
        gate.opened.set()
        await moot.settle()
        assert (moot.texts(), len(moot.programs.launches)) == (["done"], 1)


async def test_a_message_deleted_while_it_is_answered_takes_its_draft_along(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def script(prompt: str, reply: Reply) -> str:
        reply.draft("Let me")
        await gate.wait()
        return "never said"

    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo one", message_id="q1"))
        await until(lambda: moot.texts() == ["Let me"])
        await moot.receive(Deleted(ROOM, "q1"))
        await moot.settle()
        assert moot.texts() == []
        gate.set()
        await moot.hear(said("@demo two", message_id="q2"))
        await moot.settle()
        assert moot.texts() == ["never said"]
        assert "@demo one" not in moot.programs.prompts[-1]


async def test_a_message_deleted_just_before_a_kill_starts_no_program(tmp_path: Path) -> None:
    async with gated(tmp_path) as (moot, gate):
        await moot.hear(said("@demo one", message_id="q1"))
        await until(lambda: gate.begun == 1)
        await moot.house.transcript.delete(Deleted(ROOM, "q1"), datetime.now(UTC))
    async with gateway(tmp_path, bot=moot.bot) as again:
        await again.settle()
        assert (again.texts(), again.programs.launches) == ([], [])
