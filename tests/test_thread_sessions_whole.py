"""Sessions a thread, the whole way: a Slack, `moot run`, the demo agent in its terminals."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import aiohttp
from yarl import URL

from tests.doubles.credentials import program_at
from tests.doubles.service import service
from tests.doubles.slack import ASH, BOT_USER, OLIVIA, SlackDouble
from tests.test_commands import moot as command
from tests.test_slack_whole import CONFIG, answered, channels, secrets, settled

THREADS = f'{CONFIG}\n[rooms]\nsessions = "thread"\n'


def said_in(slack: SlackDouble, thread: str) -> list[str]:
    """What the agent posted in a thread, in its order."""
    return [
        message["text"]
        for message in slack.messages["C0GENERAL"].values()
        if message.get("user") == BOT_USER and message.get("thread_ts") == thread
    ]


async def ask(slack: SlackDouble, words: str, thread: str | None = None) -> str:
    return await slack.say(f"<@{BOT_USER}> {words}", thread_ts=thread)


async def terminal(client: aiohttp.ClientSession, session_id: str, words: str) -> str:
    """The first picture of a session's terminal that has these words."""
    url = URL(f"/api/sessions/{quote(session_id, safe='')}/terminal", encoded=True)
    async with client.get(url) as response:
        assert response.status == 200, await response.text()
        async for line in response.content:
            if words in (picture := line.decode()):
                return picture
    raise AssertionError(f"the picture of {session_id} never has {words!r}")


async def test_the_page_shows_each_threads_terminal(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        config = THREADS.format(api_url=slack.api_url)
        async with service(tmp_path, config, **secrets(slack)) as moot, asyncio.timeout(90):
            await slack.delivery.connected()
            threads = [await ask(slack, f"echo word {number}") for number in range(2)]
            for number, ts in enumerate(threads):
                while f"word {number}" not in said_in(slack, ts):
                    await asyncio.sleep(0.05)
            async with program_at(moot.url) as client:
                for number, ts in enumerate(threads):
                    session_id = f"demo@room:slack:C0GENERAL#{ts}"
                    picture = await terminal(client, session_id, f"word {number}")
                    assert f"echo word {1 - number}" not in picture.rpartition("INVOCATION")[2]
                async with client.get("/api/sessions/demo@room:slack:C0GENERAL/terminal") as gone:
                    assert gone.status == 404, "the room itself has none"


async def test_a_thread_does_not_wait_for_another_one(tmp_path: Path) -> None:
    config = THREADS.replace('MOOT_DEMO_PACE = "0"', 'MOOT_DEMO_PACE = "10"')  # slow: 50 s
    config = config.replace('data_dir = "data"', 'data_dir = "data"\nshutdown_s = 0')
    async with SlackDouble.open() as slack:
        config = config.format(api_url=slack.api_url)
        async with service(tmp_path, config, **secrets(slack)) as moot, asyncio.timeout(90):
            await slack.delivery.connected()
            slow = await ask(slack, "slow")
            await ask(slack, "echo word 0", slow)
            quick = await ask(slack, "echo word 1")
            while "word 1" not in said_in(slack, quick):
                await asyncio.sleep(0.05)
            await ask(slack, "echo word 2", quick)
            while "word 2" not in said_in(slack, quick):
                await asyncio.sleep(0.05)
            assert "word 0" not in said_in(slack, slow), "it waits for its own thread"
            async with program_at(moot.url) as client, client.get("/api/sessions") as response:
                ids = {one["id"] for one in (await response.json())["sessions"]}
            assert ids == {f"demo@room:slack:C0GENERAL#{ts}" for ts in (slow, quick)}
            await slack.say("!stop", thread_ts=quick)
            while "Nothing is running here." not in said_in(slack, quick):
                await asyncio.sleep(0.05)
            assert "word 0" not in said_in(slack, slow), "nobody stopped the other one"
        homes = sorted((tmp_path / "data" / "scopes").glob("*/demo*/home"))
        assert len(homes) == 2
        assert len({home.parents[1] for home in homes}) == 1, "they go when the room goes"


async def test_kill_9_at_any_moment_loses_and_doubles_nothing_of_any_thread(
    tmp_path: Path,
) -> None:
    moments = random.Random(7)
    async with SlackDouble.open() as slack:
        config = THREADS.format(api_url=slack.api_url)
        async with service(tmp_path, config, **secrets(slack)) as moot, asyncio.timeout(150):
            await slack.delivery.connected()
            asked: dict[str, list[str]] = {}
            for number in range(12):
                if number < 4:
                    thread = await ask(slack, f"echo word {number}")
                else:
                    thread = sorted(asked)[number % 4]
                    await ask(slack, f"echo word {number}", thread)
                asked.setdefault(thread, []).append(f"word {number}")
                if number % 4 == 3:
                    for _ in range(moments.randrange(40)):
                        await asyncio.sleep(0.01)
                    await moot.kill()
                    await moot.start()
                    await slack.delivery.connected()
            while any(not set(asked[one]) <= set(said_in(slack, one)) for one in asked):
                await asyncio.sleep(0.05)
            await settled(slack)
            for thread, words in asked.items():
                answers = [text for text in said_in(slack, thread) if text.startswith("word ")]
                assert answers == words


def rows_of(folder: Path, channel: str) -> list[tuple[str, str]]:
    """The threads of the room's sessions, and the ids that resume them."""
    with closing(sqlite3.connect(folder / "data" / "moot.db")) as database:
        query = "SELECT thread_id, agent_session_id FROM sessions WHERE scope = ?"
        return database.execute(query, (f"room:slack:{channel}",)).fetchall()


def homes_of(folder: Path, channel: str) -> list[Path]:
    """The folders of the room's sessions: each thread's, and the room's own."""
    return sorted((folder / "data" / "scopes").glob(f"room-slack-{channel}-*/demo*"))


async def test_a_deleted_persons_threads_leave_no_session_folder_or_row(tmp_path: Path) -> None:
    async with SlackDouble.open() as slack:
        (elsewhere,) = channels(slack, 1)
        config = THREADS.format(api_url=slack.api_url)
        async with service(tmp_path, config, **secrets(slack)) as moot, asyncio.timeout(120):
            await slack.delivery.connected()
            asked = [await ask(slack, f"echo word {number}") for number in range(2)]
            other = await slack.say(f"<@{BOT_USER}> echo word 2", ASH, channel=elsewhere)
            await answered(slack, [*(("C0GENERAL", ts) for ts in asked), (elsewhere, other)], 60)
            await moot.stop()

            assert {thread for thread, _ in rows_of(tmp_path, "C0GENERAL")} == set(asked)
            folders = homes_of(tmp_path, "C0GENERAL")
            assert len(folders) == 2, "each thread has one of its own"
            for folder in folders:
                assert {"home", "work"} <= {inside.name for inside in folder.iterdir()}
                (folder / "work" / "notes.txt").write_text("of its own making")
            kept, known = homes_of(tmp_path, elsewhere), rows_of(tmp_path, elsewhere)
            assert len(kept) == len(known) == 1

            done = await asyncio.to_thread(
                command, "memory", "delete-person", f"slack:{OLIVIA}", "--yes", cwd=tmp_path
            )
            assert done.returncode == 0, done.stderr
            assert homes_of(tmp_path, "C0GENERAL") == []
            assert rows_of(tmp_path, "C0GENERAL") == []
            assert (homes_of(tmp_path, elsewhere), rows_of(tmp_path, elsewhere)) == (kept, known)
