"""The whole way of an answer that streams: a Slack, `moot run`, a model by API, and a kill -9."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.model_steps import Message, Text
from tests.doubles.service import Service, service
from tests.doubles.slack import BOT_USER, GENERAL, SlackDouble, shown

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[access]
rooms = "open"
[[bots]]
platform = "slack"
personas = ["claude"]
api_url = "{api_url}"
"""
PERSONA = "---\nagent: anthropic\nmodel: claude-haiku-5-5\n---\nYou are Claude, an engineer.\n"
ANSWER = """\
It is **15 minutes**, since `auth/jwt.ts` says so: 漢字 👩‍👩‍👧‍👦 & <b>, a_b_c and 2*3*4

| a | b |
|---|---|
| 1 | `2` |

That is all."""
HALF = Message((Text(ANSWER),), delta=20, hold=3)


@asynccontextmanager
async def stage(path: Path) -> AsyncIterator[tuple[SlackDouble, BareAPI, Service]]:
    """Moot in front of both."""
    (path / "personas").mkdir()
    (path / "personas" / "claude.md").write_text(PERSONA, encoding="utf-8")
    async with SlackDouble.open() as slack, BareAPI.open() as api:
        environment = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": api.url,
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
        }
        async with service(path, CONFIG.format(api_url=slack.api_url), **environment) as moot:
            await slack.delivery.connected()
            yield slack, api, moot


def own(slack: SlackDouble) -> list[dict[str, Any]]:
    return [m for m in slack.messages[GENERAL].values() if m.get("user") == BOT_USER]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.05)


async def drafted(slack: SlackDouble, posts: int) -> None:
    """Until so many posts stand there."""
    await until(lambda: len(own(slack)) == posts)


def is_streamed(slack: SlackDouble) -> bool:
    """Some of the answer stands there, and grows."""
    open_ = [m for m in own(slack) if m.get("streaming_state") == "in_progress"]
    return any(shown(message).startswith("It is **15") for message in open_)


async def test_an_answer_streams_and_stands_there_as_it_was_said(tmp_path: Path) -> None:
    async with stage(tmp_path) as (slack, api, _):
        api.when("slow", HALF)
        asked = await slack.say(f"<@{BOT_USER}> slow")
        await until(lambda: is_streamed(slack))
        api.release.set()
        await until(lambda: own(slack)[0]["streaming_state"] == "completed")
        (message,) = own(slack)
        assert shown(message) == ANSWER.replace("2*3*4", r"2\*3\*4")
        assert message["thread_ts"] == asked
        assert slack.called("chat.update") == []


async def test_where_slack_streams_nothing_the_answer_is_edited_and_nobody_asks_again(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as (slack, api, _):
        slack.no_streams.add(GENERAL)
        for number in (1, 2):
            api.hold()
            api.when(f"slow {number}", HALF)
            await slack.say(f"<@{BOT_USER}> slow {number}")
            await drafted(slack, number)
            api.release.set()
            await until(lambda: "That is all." in shown(own(slack)[-1]))
        assert len(slack.called("chat.startStream")) == 1
        assert len(own(slack)) == 2


async def test_slacks_stop_button_stops_the_agent_and_keeps_what_it_said(tmp_path: Path) -> None:
    async with stage(tmp_path) as (slack, api, _):
        slack.apps[0].is_agent = True
        api.when("slow", HALF)
        asked = await slack.say(f"<@{BOT_USER}> slow")
        await until(lambda: is_streamed(slack))
        assert slack.sessions[GENERAL, asked] == "processing"
        slack.stop(GENERAL, asked)
        await until(lambda: any("I was stopped." in shown(m) for m in own(slack)))
        await until(lambda: slack.sessions[GENERAL, asked] == "active")
        assert shown(own(slack)[0]).startswith("It is *15")


async def test_kill_9_in_mid_stream_leaves_one_whole_answer(tmp_path: Path) -> None:
    async with stage(tmp_path) as (slack, api, moot):
        api.when("slow", HALF)
        await slack.say(f"<@{BOT_USER}> slow")
        await until(lambda: is_streamed(slack))
        await moot.kill()
        await moot.start()
        await until(lambda: own(slack)[0]["streaming_state"] == "completed")
        api.release.set()
        await until(lambda: "That is all." in shown(own(slack)[0]))
        await slack.delivery.settled()
        assert len(own(slack)) == 1
