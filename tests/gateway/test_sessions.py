"""Many sessions: so many live at a time, the others sleep, and nobody is forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.agent import Reply
from composer.scene import CUT_OFF
from contract.agent import Option, Question
from contract.chat import Room
from contract.errors import AgentError
from gateway.core.ledger import SessionKey, Turn
from gateway.sessions.capacity import FixedCapacity
from gateway.sessions.sessions import LiveSession
from gateway.settings.access import AccessTable
from gateway.settings.tables import SessionsTable, TurnsTable
from tests.doubles.platform import ROOM, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedAgent, ScriptedPrograms

OPEN = AccessTable(rooms="open", approvers=frozenset({"fake:ash"}))


def room(name: object) -> Room:
    return Room(f"fake:{name}", str(name))


class Gated:
    """A script that answers when its room's gate is opened."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.begun: list[str] = []

    def open(self, *names: str) -> None:
        for name in names:
            self.gates.setdefault(name, asyncio.Event()).set()

    async def __call__(self, prompt: str, reply: Reply) -> str:
        name = prompt.rpartition("room #")[2].rstrip(".\n")
        self.begun.append(name)
        await self.gates.setdefault(name, asyncio.Event()).wait()
        return f"from {name}"


async def ask(moot: Opened, name: object, text: str = "@demo hello") -> tuple[Turn, ...]:
    return (await moot.hear(said(text, room=room(name)))).turns


async def answered(moot: Opened, *names: object) -> None:
    """Ask in one room after the other, each answered before the next is asked."""
    for name in names:
        await ask(moot, name)
        await moot.settle()


def living(moot: Opened) -> list[str]:
    return [live.room.name for live in moot.house.sessions.all()]


def only(moot: Opened) -> LiveSession:
    [live] = moot.house.sessions.all()
    return live


def age(live: LiveSession, seconds: float) -> None:
    """Let time pass since its last use."""
    live.used_at -= timedelta(seconds=seconds)


async def put_to_sleep(moot: Opened) -> None:
    for live in moot.house.sessions.all():
        age(live, 901)
    assert moot.house.sessions.look() > 0
    await until(lambda: all(agent.closed for agent in moot.programs.agents))


# ── Sleep ───────────────────────────────────────────────────────────────────────────────


async def test_a_session_that_nobody_asked_for_sleeps_and_is_resumed_with_the_whole_window(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        first = only(moot)
        age(first, 899)
        assert moot.house.sessions.look() == 0
        age(first, 2)
        assert moot.house.sessions.look() == 1
        await until(lambda: moot.programs.agents[0].closed)
        assert moot.house.sessions.all() == []
        assert moot.house.sessions.asleep == 1
        await moot.hear(said("@demo two"))
        await moot.settle()
        assert [launch.session_id for launch in moot.programs.launches] == [None, "s1"]
        assert "most recent 40 messages" in moot.programs.prompts[1]
        assert "Ash] @demo one\n" in moot.programs.prompts[1]
        assert moot.house.sessions.asleep == 0


async def test_zero_seconds_mean_that_no_session_sleeps(tmp_path: Path) -> None:
    async with gateway(tmp_path, sessions=SessionsTable(sleep_s=0)) as moot:
        await answered(moot, "a")
        age(only(moot), 1e6)
        assert moot.house.sessions.look() == 0
        assert living(moot) == ["a"]


async def test_a_program_that_cannot_resume_is_not_put_to_sleep_for_being_idle(
    tmp_path: Path,
) -> None:
    programs = ScriptedPrograms(resumes=False)
    async with gateway(tmp_path, programs=programs) as moot:
        await answered(moot, "a")
        age(only(moot), 1e6)
        assert moot.house.sessions.look() == 0
        only(moot).retire = True  # after !new there is nothing to lose
        assert moot.house.sessions.look() == 1


async def test_a_session_that_works_is_not_put_to_sleep(tmp_path: Path) -> None:
    script = Gated()
    async with gateway(tmp_path, programs=ScriptedPrograms(script)) as moot:
        await ask(moot, "a")
        await until(lambda: script.begun == ["a"])
        age(only(moot), 1e6)
        assert moot.house.sessions.look() == 0
        script.open("a")
        await moot.settle()
        assert moot.texts() == ["from a"]


async def test_those_who_wait_go_on_when_there_are_more_places_and_wait_when_there_are_fewer(
    tmp_path: Path,
) -> None:
    script = Gated()
    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=1)) as moot:
        pool = moot.house.sessions
        for name in "abc":
            await ask(moot, name)
        await until(lambda: script.begun == ["a"] and pool.waiting == 2)
        pool.fit(FixedCapacity(2))
        await until(lambda: script.begun == ["a", "b"])
        pool.fit(FixedCapacity(1))
        script.open("a")
        await until(lambda: moot.texts() == ["from a"])
        assert (script.begun, pool.waiting) == (["a", "b"], 1)
        script.open("b", "c")
        await moot.settle()
        assert sorted(moot.texts()) == ["from a", "from b", "from c"]


async def test_who_waits_gets_a_place_though_there_are_fewer_when_one_is_left(
    tmp_path: Path,
) -> None:
    ends = asyncio.Event()
    programs = ScriptedPrograms(ends=ends)
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=2)) as moot:
        pool = moot.house.sessions
        await answered(moot, "a", "b")
        await ask(moot, "c")
        await until(lambda: pool.waiting == 1)
        pool.fit(FixedCapacity(1))  # while a's program ends
        ends.set()
        await moot.settle()
        assert len(moot.texts()) == 3
        assert pool.running == 1


async def test_a_mention_while_it_falls_asleep_waits_for_its_end_and_is_answered(
    tmp_path: Path,
) -> None:
    """Two programs in one HOME would write over one another."""
    programs = ScriptedPrograms(ends=asyncio.Event())
    async with gateway(tmp_path, programs=programs) as moot:
        await answered(moot, "a")
        age(only(moot), 901)
        moot.house.sessions.look()
        await ask(moot, "a")
        await until(lambda: moot.house.queues.waiting() == 1)
        for _ in range(20):
            await asyncio.sleep(0)
        assert programs.starting == 1
        assert programs.ends
        programs.ends.set()
        await moot.settle()
        assert programs.agents[0].closed
        assert [launch.session_id for launch in programs.launches] == [None, "s1"]
        assert len(moot.texts()) == 2


async def test_the_crash_of_a_program_that_idles_is_no_event(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await answered(moot, "a", "b")
        moot.programs.agents[0].dead = True
        assert moot.house.sessions.look() == 0
        await put_to_sleep(moot)
        assert len(moot.texts()) == 2
        await answered(moot, "a", "b")
        assert len(moot.texts()) == 4


async def test_stop_where_the_session_sleeps_says_that_nothing_runs(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await answered(moot, "a")
        await put_to_sleep(moot)
        await ask(moot, "a", "@demo !stop")
        await moot.settle()
        assert moot.texts()[-1] == "Nothing is running here."
        assert moot.house.sessions.all() == []


async def test_new_while_it_sleeps_begins_a_new_session(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await answered(moot, "a")
        await put_to_sleep(moot)
        await ask(moot, "a", "@demo !new")
        await moot.settle()
        await answered(moot, "a")
        assert [launch.session_id for launch in moot.programs.launches] == [None, None]


# ── The cap ─────────────────────────────────────────────────────────────────────────────


async def test_the_session_used_longest_ago_makes_room(tmp_path: Path) -> None:
    async with gateway(tmp_path, sessions=SessionsTable(most=3)) as moot:
        await answered(moot, "a", "b", "c", "a", "d")
        assert living(moot) == ["c", "a", "d"]
        await answered(moot, "b")
        assert living(moot) == ["a", "d", "b"]
        assert len(moot.texts()) == 6


async def test_one_that_would_lose_its_conversation_makes_room_last(tmp_path: Path) -> None:
    async with gateway(tmp_path, sessions=SessionsTable(most=2)) as moot:
        await answered(moot, "a", "b")
        first = moot.programs.agents[0]
        first.session_id = None  # its program never told one
        await answered(moot, "c")
        assert living(moot) == ["a", "c"]
        assert not first.closed


async def test_one_that_is_dead_makes_room_first(tmp_path: Path) -> None:
    async with gateway(tmp_path, sessions=SessionsTable(most=2)) as moot:
        await answered(moot, "a", "b")
        moot.programs.agents[1].dead = True
        await answered(moot, "c")
        assert living(moot) == ["a", "c"]


async def test_where_all_are_busy_the_next_waits_and_is_told_so(tmp_path: Path) -> None:
    script = Gated()
    programs = ScriptedPrograms(script)
    turns = TurnsTable(marks="waiting")
    settings = SessionsTable(most=2)
    async with gateway(tmp_path, programs=programs, sessions=settings, turns=turns) as moot:
        for name in "abc":
            await ask(moot, name)
            await until(lambda name=name: name == "c" or name in script.begun)  # type: ignore[misc]
        await until(lambda: moot.house.sessions.waiting == 1)
        await until(lambda: len(moot.bot.marks) == 1)
        assert [mark for _, mark in moot.bot.marks] == ["waiting"]
        assert not any(agent.closed for agent in programs.agents)
        script.open("b")
        await until(lambda: "c" in script.begun)
        assert living(moot) == ["a", "c"]
        script.open("a", "c")
        await moot.settle()
        await until(lambda: len(moot.bot.marks) == 2)
        assert sorted(moot.texts()) == ["from a", "from b", "from c"]


async def test_a_permission_that_waits_keeps_its_session(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        if "#b." in prompt:
            return "b"
        options = (Option("Yes"), Option("No", refuses=True))
        return str(await reply.choose(Question("q1", "May I?", "rm", options)))

    programs = ScriptedPrograms(script)
    settings = SessionsTable(most=1)
    async with gateway(tmp_path, programs=programs, sessions=settings, access=OPEN) as moot:
        await ask(moot, "a")
        await until(lambda: bool(moot.house.questions.open_in("fake:a")))
        await ask(moot, "b")
        await until(lambda: moot.house.sessions.waiting == 1)
        assert moot.house.sessions.look() == 0
        assert not programs.agents[0].closed
        await ask(moot, "a", "!1")
        await moot.settle()
        assert "0" in moot.texts()
        assert "b" in moot.texts()


async def test_stop_ends_the_waiting_and_the_place_goes_to_the_next(tmp_path: Path) -> None:
    script = Gated()
    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=1)) as moot:
        await ask(moot, "a")
        await until(lambda: script.begun == ["a"])
        await ask(moot, "b")
        await until(lambda: moot.house.sessions.waiting == 1)
        await ask(moot, "c")
        await until(lambda: moot.house.sessions.waiting == 2)
        await ask(moot, "b", "@demo !stop")
        await until(lambda: moot.house.sessions.waiting == 1)
        await until(lambda: "⏹️ Stopped." in moot.texts())
        script.open("a", "b", "c")
        await moot.settle()
        assert script.begun == ["a", "c"]
        await ask(moot, "b")
        await moot.settle()
        assert script.begun == ["a", "c", "b"]


async def test_a_place_is_not_lost_by_a_start_that_fails_or_is_stopped(tmp_path: Path) -> None:
    programs = ScriptedPrograms(starts=asyncio.Event())
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=1)) as moot:
        programs.failures.append(AgentError("missing", "not installed", say="Not installed."))
        await answered(moot, "a")
        await ask(moot, "b")
        await until(lambda: programs.starting == 1)
        await ask(moot, "b", "@demo !stop")
        await moot.settle()
        assert programs.starts
        programs.starts.set()
        await answered(moot, "c")
        assert living(moot) == ["c"]
        assert moot.texts()[-1] == "Respond to Ash in room #c."


@pytest.mark.parametrize("yields", range(6))
async def test_a_start_that_is_stopped_in_its_last_moment_blocks_nobody(
    tmp_path: Path, yields: int
) -> None:
    programs = ScriptedPrograms(starts=asyncio.Event())
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=1)) as moot:
        await ask(moot, "a")
        await until(lambda: programs.starting == 1)
        await ask(moot, "b")
        await until(lambda: moot.house.sessions.waiting == 1)
        assert programs.starts
        programs.starts.set()
        for _ in range(yields):
            await asyncio.sleep(0)
        await moot.house.sessions.interrupt(SessionKey("demo", "room:fake:a"))
        await moot.settle()
        assert len(moot.texts()) == 2
        assert "Respond to Ash in room #b." in moot.texts()
        assert sum(not agent.closed for agent in programs.agents) == 1


async def test_thirty_rooms_share_three_places_and_are_answered_once_each(tmp_path: Path) -> None:
    most = 0

    async def script(prompt: str, reply: Reply) -> str:
        nonlocal most
        most = max(most, sum(not agent.closed for agent in programs.agents))
        await asyncio.sleep(0.001)
        room = prompt.rpartition("room #")[2].partition(",")[0]  # ", to the message of 14:02."
        return f"from {room}".rstrip(".\n")

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=3)) as moot:
        await asyncio.gather(*(ask(moot, n) for n in range(30) for _ in range(2)))
        await moot.settle()
        assert Counter(moot.texts()) == {f"from {n}": 2 for n in range(30)}
        assert most == 3
        assert len(living(moot)) == 3


async def test_nobody_is_passed_over_by_a_room_that_never_rests(tmp_path: Path) -> None:
    order: list[str] = []

    async def script(prompt: str, reply: Reply) -> str:
        name = prompt.rpartition("room #")[2].rstrip(".\n")
        order.append(name)
        if name == "busy" and len(order) < 50:
            await ask(moot, "busy")
        return name

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, programs=programs, sessions=SessionsTable(most=1)) as moot:
        await ask(moot, "busy")
        await until(lambda: order == ["busy"] or len(order) > 1)
        await ask(moot, "quiet")
        await moot.settle()
        assert order.index("quiet") < len(order) - 1


# ── Shutting down ───────────────────────────────────────────────────────────────────────


async def test_closing_ends_what_lives_and_waits_for_what_falls_asleep(tmp_path: Path) -> None:
    programs = ScriptedPrograms(ends=asyncio.Event())
    async with gateway(tmp_path, programs=programs) as moot:
        await answered(moot, "a", "b")
        age(moot.house.sessions.all()[0], 901)
        moot.house.sessions.look()
        closing = asyncio.create_task(moot.house.sessions.close())
        await asyncio.sleep(0)
        assert not closing.done()
        assert programs.ends
        programs.ends.set()
        await closing
        assert all(agent.closed for agent in programs.agents)


async def test_a_kill_while_one_waits_leaves_its_turn_to_the_next_start(tmp_path: Path) -> None:
    script = Gated()
    settings = SessionsTable(most=1)
    async with gateway(tmp_path, programs=ScriptedPrograms(script), sessions=settings) as moot:
        await ask(moot, "a")
        await until(lambda: script.begun == ["a"])
        await ask(moot, "b")
        await until(lambda: moot.house.sessions.waiting == 1)
    async with gateway(tmp_path, sessions=settings) as moot:
        await moot.settle()
        again, first = f"Respond to Ash in room #a. {CUT_OFF}", "Respond to Ash in room #b."
        assert sorted(moot.texts()) == [again, first]


async def test_the_agents_of_one_room_have_places_of_their_own(tmp_path: Path) -> None:
    async with gateway(
        tmp_path, personas=("demo", "other"), sessions=SessionsTable(most=1)
    ) as moot:
        await moot.hear(said("@demo and @other hello", room=ROOM))
        await moot.settle()
        assert len(moot.texts()) == 2
        ended: list[ScriptedAgent] = [agent for agent in moot.programs.agents if agent.closed]
        assert len(ended) == 1
