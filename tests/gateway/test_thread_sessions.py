"""Sessions a thread: each thread of a room has a queue, a session, a HOME of its own."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Reply
from bots.bot import PlatformCapabilities
from contract.agent import Option, Question
from contract.chat import Room
from gateway.backup.backup import BackupOptions, back_up
from gateway.backup.restore import RestoredBy, restore_to
from gateway.core.ledger import SessionKey
from gateway.settings.access import AccessTable, GrantTable
from gateway.settings.tables import MemoryTable, RoomsTable
from store.versions import HEAD
from tests.doubles.migrated import migrated
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

THREADS = {"rooms": RoomsTable(sessions="thread")}
SCOPE = "room:fake:general"
MIDNIGHT = datetime(2026, 4, 20, tzinfo=UTC)  # each message has a minute of its own
_minutes = count()


class Gated(ScriptedPrograms):
    """Answers what its question says; one that says "wait" when the gate is open. Sessions have ids
    of their own, unless they are resumed."""

    def __init__(self) -> None:
        super().__init__(self._answer, numbered=True)
        self.gate = asyncio.Event()

    async def _answer(self, prompt: str, reply: Reply) -> str:
        lines = [one for one in prompt.splitlines() if re.match(r"\[.* \| \w+\] @demo ", one)]
        if of := re.search(r"to the message of (\d\d:\d\d)\.", prompt):
            lines = [one for one in lines if one.startswith(f"[{of[1]} ")]
        asked = lines[-1].partition("@demo ")[2]
        if "wait" in asked:
            await self.gate.wait()
        if "may I" in asked:
            options = (Option("Allow"), Option("Refuse", refuses=True))
            chosen = await reply.choose(Question(asked, asked, "it would run", options))
            return f"{asked}: {chosen}"
        return f"answer to {asked}"


@asynccontextmanager
async def opened(
    tmp_path: Path, programs: Gated | None = None, **more: Any
) -> AsyncIterator[tuple[Opened, Gated]]:
    programs = programs or Gated()
    options: dict[str, Any] = {"options": THREADS, "programs": programs} | more
    async with gateway(tmp_path, **options) as moot:
        yield moot, programs


async def say(moot: Opened, text: str, thread: str | None = None, **more: Any) -> None:
    at = MIDNIGHT + timedelta(minutes=next(_minutes))
    await moot.hear(replace(said(text, thread_id=thread, **more), sent_at=at))


async def told(moot: Opened, text: str, thread: str | None = None, **more: Any) -> str:
    """What a command is answered with."""
    count = len(moot.texts())
    await say(moot, text, thread, **more)
    await until(lambda: len(moot.texts()) > count)
    return moot.texts()[-1]


async def test_two_threads_of_a_room_are_answered_at_the_same_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as (moot, programs):
        await say(moot, "@demo wait one", "t1")
        await until(lambda: len(programs.prompts) == 1)
        await say(moot, "@demo two", "t2")
        await until(lambda: moot.texts() == ["answer to two"])
        await say(moot, "@demo three", "t1")
        programs.gate.set()
        await moot.settle()
        assert moot.texts() == ["answer to two", "answer to wait one", "answer to three"]
        assert [one.place.thread_id for one in moot.bot.posted] == ["t2", "t1", "t1"]
        first, second = programs.launches
        assert first.home != second.home
        assert first.workspace != second.workspace
        assert first.home.parents[1] == second.home.parents[1], "both go when the scope goes"
        assert "SESSION CONTEXT" in programs.prompts[1], "it begins with the room's header"
        assert "wait one" in programs.prompts[1], "and knows what was said in the room"


async def test_without_the_setting_a_room_has_one_session(tmp_path: Path) -> None:
    async with opened(tmp_path, options={}) as (moot, programs):
        for thread in ("t1", "t2", None):
            await say(moot, f"@demo in {thread}", thread)
            await moot.settle()
        assert len(programs.launches) == 1


async def test_a_threads_session_is_told_what_its_persona_said_in_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as (moot, programs):
        for text, thread in (("one", "t1"), ("two", "t2"), ("three", "t1")):
            await say(moot, f"@demo {text}", thread)
            await moot.settle()
        transcript = programs.prompts[2].partition("[RAW TRANSCRIPT")[2]
        assert "answer to two" in transcript
        assert "answer to one" not in transcript, "it said that itself"


async def test_stop_new_and_sessions_are_the_threads_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as (moot, programs):
        await say(moot, "@demo wait one", "t1")
        await say(moot, "@demo wait two", "t2")
        await until(lambda: len(programs.prompts) == 2)
        assert await told(moot, "!stop") == "@demo works in 2 threads; say `!stop` there."
        assert "- in a thread: works on" in await told(moot, "!status")
        assert "working in 2 threads" in await told(moot, "!agents")
        assert await told(moot, "!stop", "t3") == "Nothing is running here."
        assert await told(moot, "!stop", "t1") == "⏹️ Stopped."
        programs.gate.set()
        await moot.settle()
        assert moot.texts()[-1] == "answer to wait two"
        listed = await told(moot, "!sessions", "t2")
        assert '1 turn, "wait two", the one of now' in listed
        assert "wait one" not in listed
        await told(moot, "!new", "t2")
        await say(moot, "@demo again", "t1")
        await say(moot, "@demo again", "t2")
        await moot.settle()
        assert [one.session_id for one in programs.launches] == [None, None, None]
        assert len({one.home for one in programs.launches}) == 2
        assert (await told(moot, "!sessions", "t2")).count("\n") == 2
        assert "no session" in await told(moot, "!resume 99", "t1")


async def test_outside_of_threads_it_is_said_where_sessions_are(tmp_path: Path) -> None:
    bot = FakeBot(capabilities=PlatformCapabilities(draft_interval_s=0.05, thread_replies=True))
    async with opened(tmp_path, bot=bot) as (moot, programs):
        question = said("@demo one")
        await moot.hear(question)
        await moot.settle()
        await say(moot, "@demo two", question.message_id)
        await moot.settle()
        assert len(programs.launches) == 1, "the answer's thread goes on with its session"
        await say(moot, "@demo three")
        await moot.settle()
        assert len(programs.launches) == 2, "another question begins another"
        assert "say `!new` there" in await told(moot, "!new")
        assert "say `!sessions` there" in await told(moot, "!sessions")


async def test_a_questions_answer_in_a_thread_is_that_threads(tmp_path: Path) -> None:
    owner = GrantTable(role="owner", people=frozenset({"fake:ash"}))
    access = AccessTable(rooms="open", grants=(owner,))
    async with opened(tmp_path, access=access) as (moot, _):
        await say(moot, "@demo may I one", "t1")
        await say(moot, "@demo may I two", "t2")
        await until(lambda: len(moot.bot.asked) == 2)
        await say(moot, "!2", "t2")
        await until(lambda: "may I two: 1" in moot.texts())
        await say(moot, "!1", "t1")
        await until(lambda: "may I one: 0" in moot.texts())


@pytest.mark.parametrize("running", [True, False])
async def test_a_kill_loses_and_doubles_nothing(tmp_path: Path, running: bool) -> None:
    programs = Gated()
    async with opened(tmp_path, programs) as (moot, _):
        for thread in ("t1", "t2"):
            await say(moot, f"@demo first of {thread}", thread)
        await moot.settle()
        if running:
            for thread in ("t1", "t2"):
                await say(moot, f"@demo wait {thread}", thread)
            await say(moot, "@demo behind", "t1")
            await until(lambda: len(programs.prompts) == 4)
    bot = moot.bot
    programs.gate.set()
    async with opened(tmp_path, programs, bot=bot) as (moot, _):
        if not running:
            for thread in ("t1", "t2"):
                await say(moot, f"@demo wait {thread}", thread)
            await say(moot, "@demo behind", "t1")
        await moot.settle()
        found = [(one.place.thread_id, one.text) for one in bot.posted]
        assert sorted(found) == [
            ("t1", "answer to behind"),
            ("t1", "answer to first of t1"),
            ("t1", "answer to wait t1"),
            ("t2", "answer to first of t2"),
            ("t2", "answer to wait t2"),
        ]
        assert found.index(("t1", "answer to wait t1")) < found.index(("t1", "answer to behind"))
        began = {one.session_id: one.home for one in programs.launches if one.session_id}
        assert set(began) == {"s1", "s2"}, "each thread goes on with its own"
        assert len(set(began.values())) == 2


async def test_a_room_chooses_for_itself_and_keeps_its_choice(tmp_path: Path) -> None:
    owner = GrantTable(role="owner", people=frozenset({"fake:ash"}))
    access = AccessTable(rooms="open", grants=(owner,))
    programs = Gated()
    other = Room("fake:other", "other")
    async with opened(tmp_path, programs, options={}, access=access) as (moot, _):
        refused = await told(moot, "!sessions thread", by="budi")
        assert refused == "Budi, `!sessions thread` is for owners."
        assert await told(moot, "!sessions thread") == (
            "From now on each thread here has one session a persona; `!sessions room` changes that."
        )
    async with opened(tmp_path, programs, options={}, access=access) as (moot, _):
        for room in (None, other):
            for thread in ("t1", "t2"):
                await say(moot, f"@demo in {thread}", thread, **({"room": room} if room else {}))
                await moot.settle()
        homes = [one.home for one in programs.launches]
        assert len(homes) == 3, "two in the room that chose, one in the other"
        assert "all threads of this room share" in await told(moot, "!sessions room")
        await say(moot, "@demo in t3", "t3")
        await moot.settle()
        assert programs.launches[-1].home not in homes
        rows = [row async for some in moot.house.audit.rows() for row in some]
        assert [row["act"] for row in rows].count("sessions") == 2


async def test_a_direct_message_has_one_session(tmp_path: Path) -> None:
    dm = Room("fake:dm-ash", "ash", "dm")
    access = AccessTable(rooms="open", dms="open")
    async with opened(tmp_path, access=access) as (moot, programs):
        for thread in ("t1", "t2"):
            await say(moot, f"@demo in {thread}", thread, room=dm)
            await moot.settle()
        assert len(programs.launches) == 1
        answer = await told(moot, "!sessions thread", room=dm)
        assert "owners" in answer or "direct message" in answer


async def test_an_idle_thread_ends_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, memory=MemoryTable(idle_s=3600)) as (moot, _):
        for thread in ("t1", "t2"):
            await say(moot, f"@demo in {thread}", thread)
            await moot.settle()
        ended = await moot.house.ledger.retire_session(SessionKey("demo", SCOPE, "t1"))
        assert ended is not None
        assert ended.key == SessionKey("demo", SCOPE, "t1")
        assert await moot.house.ledger.agent_session(ended.key, "scripted") is None
        left = await moot.house.ledger.agent_session(SessionKey("demo", SCOPE, "t2"), "scripted")
        assert left == "s2"
        assert {view.id for view in await moot.house.services.agents.sessions()} == {
            f"demo@{SCOPE}#t1",
            f"demo@{SCOPE}#t2",
        }


async def test_a_threads_session_comes_back_from_a_backup_and_goes_on(tmp_path: Path) -> None:
    old, new, programs = tmp_path / "old", tmp_path / "new", Gated()
    url = await migrated(old / "data" / "moot.db")
    async with opened(old, programs, url=url) as (moot, _):
        for thread in ("t1", "t2"):
            await say(moot, f"@demo first of {thread}", thread)
            await moot.settle()
        for number, launch in enumerate(programs.launches):
            (launch.home / "notes").write_text(f"of session {number}")
        config = moot.house.context.config
    archive = tmp_path / "archive.tar.gz"
    back_up(config, old / "moot.toml", archive, BackupOptions(scopes=True), MIDNIGHT)
    restore_to(archive, new, RestoredBy(MIDNIGHT, HEAD))
    url = await migrated(new / "data" / "moot.db")
    async with opened(new, programs, url=url) as (moot, _):
        await say(moot, "@demo second", "t2")
        await moot.settle()
        launch = programs.launches[-1]
        assert (launch.session_id, launch.home.is_relative_to(new)) == ("s2", True)
        assert (launch.home / "notes").read_text() == "of session 1"
