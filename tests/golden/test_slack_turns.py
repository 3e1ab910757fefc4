"""Recorded turns of the real `moot run`: a Slack, the demo agent in its terminal, and the page.

As in test_turns.py, but from native events to native calls: what was posted, what
stands in the database, and what a dry run over the HTTP API answers. The times of people's messages
are the workspace's, which runs on a clock of its own.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from tests.doubles.service import Service, service
from tests.doubles.slack import BOT_USER, CODEX, DM, GENERAL, GROUP_DM, SlackDouble
from tests.golden.account import written
from tests.golden.stage import START
from tests.golden.test_turns import compare

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
timezone = "Europe/Berlin"
[access]
rooms = "open"
dms = "open"
approvers = ["slack:{olivia}"]
[turns]
marks = "off"
[memory]
remember = "off"  # it learns some seconds later
[[bots]]
platform = "slack"
personas = ["demo"]
api_url = "{api_url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
ME = f"<@{BOT_USER}>"
SHOWN = ("ts", "thread_ts", "username", "blocks")


@dataclass
class Workspace(SlackDouble):
    """A Slack whose clock makes a step of a minute for every message."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._minutes = count()

    def new_ts(self) -> str:
        return f"{(START + timedelta(minutes=next(self._minutes))).timestamp():.6f}"


@dataclass
class Talk:
    """What is said in a workspace, each when all before it is answered."""

    slack: Workspace
    moot: Service
    folder: Path

    async def say(self, text: str, **more: Any) -> str:
        ts = await self.slack.say(text, **more)
        await self.settled()
        return ts

    async def settled(self, *, posts: int = 0) -> None:
        """Until every event is on disk and no turn is open; or so many posts were made."""
        await self.slack.delivery.settled()
        async with asyncio.timeout(60):
            while len(self.slack.called("chat.postMessage")) < posts or (
                not posts and self.open_turns()
            ):
                await asyncio.sleep(0.02)

    def open_turns(self) -> int:
        states = "('queued', 'running', 'answered')"
        with closing(sqlite3.connect(self.folder / "data" / "moot.db")) as database:
            found = database.execute(f"SELECT count(*) FROM turns WHERE state IN {states}")
            return int(found.fetchone()[0])


async def play(talk: Talk) -> dict[str, Any]:
    """The whole of it; returns a dry run."""
    slack = talk.slack
    root = await talk.say("the build is *red* &amp; <https://example.org|here> is why")
    await talk.say(f"{ME} echo **bold** <b> `code`\n\n- one\n- two")
    await talk.say(f"{ME} header", thread_ts=root)
    await talk.say(f"{ME}")
    await talk.say("!pin we rotate refresh tokens")
    await slack.pin(GENERAL, root)
    await slack.react(GENERAL, root, "pushpin")
    await talk.settled()
    await talk.say(f"{ME} header", user=CODEX)
    edited = await talk.say("tokens live for 15 minutes")
    await slack.edit(GENERAL, edited, "tokens live for 30 minutes")
    gone = await talk.say("never mind")
    await slack.remove(GENERAL, gone)
    await talk.settled()
    await talk.say(f"{ME} header", times=2)
    await talk.say("header", channel=DM)
    await talk.say(f"{ME} echo hello group", channel=GROUP_DM)
    await talk.say(f"{ME} code")
    await talk.say(f"{ME} table")
    await talk.say(f"{ME} unicode")
    await talk.say(f"{ME} error")
    await talk.say("!landmarks")
    posts = len(slack.called("chat.postMessage"))
    await slack.say(f"{ME} permission")
    await talk.settled(posts=posts + 1)
    question = list(slack.messages[GENERAL].values())[-1]
    await slack.press(GENERAL, question["ts"], "Yes")
    await talk.settled()
    await talk.settled()
    body = {"name": "demo", "by": "web:ana", "message": "header", "room_id": f"slack:{GENERAL}"}
    async with (
        aiohttp.ClientSession(talk.moot.url, headers=talk.moot.headers) as client,
        client.post("/api/personas/dry-run", json=body) as response,
    ):
        told: dict[str, Any] = await response.json()
        return {name: told[name] for name in ("system", "header", "answer", "asked", "trouble")}


async def test_turns_of_the_real_process_are_what_they_were(tmp_path: Path) -> None:
    async with Workspace.open() as slack:
        assert isinstance(slack, Workspace)
        config = CONFIG.format(api_url=slack.api_url, olivia="U0OLIVIA1")
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        async with service(tmp_path, config, **tokens) as moot:
            await slack.delivery.connected()
            dry_run = await play(Talk(slack, moot, tmp_path))
    parts = ["A conversation in Slack, from its events to its posts.\n", "══ Slack ══\n"]
    parts += _posts(slack)
    parts += ["══ dry run ══\n", *(f"{name}:\n{_bar(of)}\n" for name, of in dry_run.items())]
    own = ("moot", "demo", "ana")
    found = written(parts, tmp_path / "data" / "moot.db", tmp_path, own)
    compare("slack", found.replace(slack.base, "<slack>"))


def _posts(slack: SlackDouble) -> Iterator[str]:
    """What of ours stands in each channel at the end: whether it was a draft first is chance."""
    for channel, messages in slack.messages.items():
        for message in messages.values():
            if message.get("user") == BOT_USER:
                shown = {name: message[name] for name in SHOWN if message.get(name) is not None}
                told = ", ".join(f"{name} {_said(of)}" for name, of in shown.items())
                yield f"{channel}: {told}\n{_bar(message['text'])}\n"


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bar(value: object) -> str:
    return "\n".join(f"  │{line}" for line in _said(value).split("\n"))
