"""The whole way: a Slack, `moot run`, and messages edited after an agent was shown them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.doubles.service import service
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.test_slack_whole import CONFIG, secrets

CHANNEL = "C0GENERAL"


class Room:
    """A channel, and what the demo agent was given in it."""

    def __init__(self, slack: SlackDouble, folder: Path) -> None:
        self.slack = slack
        self._file = folder / "data" / "moot.db"
        self._asked = 0

    def rows(self, query: str) -> list[tuple[str]]:
        with closing(sqlite3.connect(self._file)) as database:
            return database.execute(query).fetchall()

    async def asks(self, text: str) -> list[str]:
        """The lines of the transcript that the agent was given with a question."""
        self._asked += 1
        await self.slack.say(f"<@{BOT_USER}> {text}", channel=CHANNEL)
        query = "SELECT header FROM turns WHERE state = 'posted' AND kind = 'ask' ORDER BY seq"
        async with asyncio.timeout(30):
            while len(headers := self.rows(query)) < self._asked:
                await asyncio.sleep(0.05)
        [header] = headers[-1]
        section = header.partition("[RAW TRANSCRIPT")[2].partition("\n\n")[0]
        return [line.partition("] ")[2] for line in section.splitlines()[1:]]

    async def edits(self, ts: str, text: str) -> None:
        """It is edited, and on disk."""
        await self.slack.edit(CHANNEL, ts, text)
        async with asyncio.timeout(30):
            while (text,) not in self.rows("SELECT content FROM messages"):
                await asyncio.sleep(0.05)


async def test_a_living_session_is_told_once_of_an_edit_of_what_it_was_shown(
    tmp_path: Path,
) -> None:
    async with (
        SlackDouble.open() as slack,
        service(tmp_path, CONFIG.format(api_url=slack.api_url), **secrets(slack)),
    ):
        await slack.delivery.connected()
        room = Room(slack, tmp_path)
        first = await slack.say("staging is on port 5433", channel=CHANNEL)
        gone = await slack.say("the key is under the mat", channel=CHANNEL)
        assert len(await room.asks("echo one")) == 3
        new = await slack.say("lunch is at twelve", channel=CHANNEL)
        await room.edits(first, "staging is on port 5434")
        await room.edits(first, "staging is on port 5435")
        await room.edits(new, "lunch is at one")
        await room.edits(gone, "the key is with Carol")
        await slack.remove(CHANNEL, gone)
        edited, lunch, asked = await room.asks("echo two")
        assert edited == "(edited) staging is on port 5435"
        assert lunch == "lunch is at one"  # it is new to the agent
        assert asked.endswith("echo two")
        [line] = await room.asks("echo three")
        assert line.endswith("echo three")
        await room.edits(first, "staging is on port 5436")
        assert (await room.asks("echo four"))[0] == "(edited) staging is on port 5436"


async def test_a_new_session_is_shown_the_text_as_it_is(tmp_path: Path) -> None:
    async with (
        SlackDouble.open() as slack,
        service(tmp_path, CONFIG.format(api_url=slack.api_url), **secrets(slack)),
    ):
        await slack.delivery.connected()
        room = Room(slack, tmp_path)
        first = await slack.say("staging is on port 5433", channel=CHANNEL)
        await room.asks("echo one")
        await room.edits(first, "staging is on port 5434")
        await slack.say("!new", channel=CHANNEL)
        assert "staging is on port 5434" in await room.asks("echo two")


async def test_what_waits_for_its_own_turn_is_in_no_other_one(tmp_path: Path) -> None:
    async with (
        SlackDouble.open() as slack,
        service(
            tmp_path, CONFIG.format(api_url=slack.api_url).replace('"0"', '"1"'), **secrets(slack)
        ),
    ):
        await slack.delivery.connected()
        room = Room(slack, tmp_path)
        at = f"<@{BOT_USER}>"
        await slack.say(f"{at} echo one {'word ' * 12}", channel=CHANNEL)
        for text in ("two", "three", "four"):
            waits = await slack.say(f"{at} echo {text} {'word ' * 12}", channel=CHANNEL)
        await slack.say("by the way", channel=CHANNEL)
        running = "SELECT content FROM messages JOIN turns ON turns.message_seq = messages.seq "
        running += "WHERE turns.state = 'running'"
        async with asyncio.timeout(60):
            while not any("echo two" in content for (content,) in room.rows(running)):
                await asyncio.sleep(0.05)
        await room.edits(waits, f"{at} echo changed")
        query = "SELECT header FROM turns WHERE state = 'posted' AND kind = 'ask' ORDER BY seq"
        async with asyncio.timeout(120):
            while len(headers := room.rows(query)) < 4:
                await asyncio.sleep(0.05)
        assert [index for index, (text,) in enumerate(headers) if "changed" in text] == [3]
        assert "(edited)" not in headers[3][0]
