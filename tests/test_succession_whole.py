"""The whole way: questions that wait for the one before them in their session, while Slack lets the
answer to that wait."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.model_steps import Message, Text
from tests.doubles.running import until
from tests.doubles.service import Service, service
from tests.doubles.slack import DM, Fault, SlackDouble

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[access]
dms = "open"
[[bots]]
platform = "slack"
personas = ["claude"]
api_url = "{api_url}"
"""
PERSONA = "---\nagent: anthropic\n---\nYou are Claude.\n"
NUMBERS = ["one", "two", "three", "four"]
LONG = "Two. " * 200  # some fifty deltas


@asynccontextmanager
async def stage(
    path: Path, two: Message | None = None, more: str = ""
) -> AsyncIterator[tuple[SlackDouble, BareAPI, Service]]:
    """A Slack, a model and `moot run` between them. two: the second answer. more: of moot.toml."""
    (path / "personas").mkdir()
    (path / "personas" / "claude.md").write_text(PERSONA, encoding="utf-8")
    async with SlackDouble.open() as slack, BareAPI.open() as api:
        for number in NUMBERS:  # the last one that is asked for counts
            said = two if two and number == "two" else f"It is {number}."
            api.when(f"say {number}", said)
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url, **slack.secrets}
        config = CONFIG.format(api_url=slack.api_url) + more
        async with service(path, config, **environment) as moot:
            await slack.delivery.connected()
            yield slack, api, moot


def held_up(slack: SlackDouble) -> asyncio.Event:
    """Let the next post wait; it goes on when this is set."""
    release = asyncio.Event()
    slack.fail("chat.postMessage", Fault("hang", release=release))
    return release


async def say(slack: SlackDouble, *numbers: str) -> list[str]:
    return [await slack.say(f"say {number}", channel=DM) for number in numbers]


def asked(api: BareAPI) -> list[str]:
    """The last words of each request."""
    return [json.dumps(request.body["messages"][-1]) for request in api.requests]


def shown_by(slack: SlackDouble) -> list[str]:
    """The calls by which anything is shown in a conversation, but for marks on its messages."""
    methods = [call.method for call in slack.calls]
    return [one for one in methods if one.startswith(("chat.", "assistant.", "files."))]


def turns_of(moot: Service, event: str) -> list[str]:
    """The turns of the log's lines of an event."""
    lines = (json.loads(line) for line in moot.log().splitlines() if line.startswith("{"))
    return [line["turn"] for line in lines if line["event"] == event]


async def test_the_next_question_is_asked_while_an_answer_is_posted_and_no_other_one(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as (slack, api, moot):
        release = held_up(slack)
        await say(slack, *NUMBERS)
        await until(lambda: len(asked(api)) == 2)
        await asyncio.sleep(1.0)
        assert len(asked(api)) == 2
        assert "It is one." in json.dumps(api.requests[1].body)
        assert slack.texts(DM) == []
        release.set()
        await until(lambda: len(slack.texts(DM)) == 4)
        assert slack.texts(DM) == [f"It is {number}." for number in NUMBERS]
        await until(lambda: len(turns_of(moot, "turn.posted")) == 4)
        posted = turns_of(moot, "turn.posted")
        assert posted == turns_of(moot, "agent.asked") == turns_of(moot, "answer.planned")


async def test_nothing_of_the_next_turn_is_shown_before_the_answer_that_is_posted(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, Message((Text(LONG),), hold=30)) as (slack, api, _):
        release = held_up(slack)
        await say(slack, *NUMBERS[:2])
        await until(lambda: len(asked(api)) == 2 and bool(slack.called("chat.postMessage")))
        before = shown_by(slack)
        await asyncio.sleep(2.2)  # drafts begin after 1.5
        assert shown_by(slack) == before
        release.set()
        await until(lambda: len(slack.texts(DM)) == 2)  # and a draft
        assert slack.texts(DM)[0] == "It is one."
        assert slack.texts(DM)[1].startswith("Two. Two.")
        api.release.set()
        await until(lambda: slack.texts(DM)[1:] == [LONG.strip()])


async def test_a_kill_while_one_is_posted_and_the_next_one_asked_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as (slack, api, moot):
        release = held_up(slack)
        await say(slack, *NUMBERS)
        await until(lambda: len(turns_of(moot, "answer.planned")) == 2)
        await asyncio.sleep(0.5)
        await moot.kill()
        release.set()  # what it posted arrives all the same
        await until(lambda: len(slack.texts(DM)) == 1)
        await moot.start()
        await until(lambda: len(turns_of(moot, "turn.posted")) == 4)
        await asyncio.sleep(1.0)
        assert slack.texts(DM) == [f"It is {number}." for number in NUMBERS]
        assert len(asked(api)) == 4  # an answer that is on disk is posted without asking again


async def test_a_question_that_comes_while_an_answer_is_posted_is_asked(tmp_path: Path) -> None:
    async with stage(tmp_path) as (slack, api, _):
        release = held_up(slack)
        await say(slack, "one")
        await until(lambda: bool(slack.called("chat.postMessage")))
        await say(slack, "two")
        await until(lambda: len(asked(api)) == 2)
        assert slack.texts(DM) == []
        release.set()
        await until(lambda: slack.texts(DM) == ["It is one.", "It is two."])


async def test_an_answer_whose_question_is_deleted_while_it_waits_to_be_posted_is_not(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as (slack, _, moot):
        release = held_up(slack)
        stamps = await say(slack, *NUMBERS[:3])
        await until(lambda: len(turns_of(moot, "answer.planned")) == 2)
        await slack.remove(DM, stamps[1])
        await asyncio.sleep(1.0)
        release.set()
        await until(lambda: len(slack.texts(DM)) == 2)
        await asyncio.sleep(1.0)
        assert slack.texts(DM) == ["It is one.", "It is three."]
    for file in (tmp_path / "data").glob("moot.db*"):
        assert b"It is two." not in file.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="it limits another process's files")
@pytest.mark.parametrize("more", ["", "[turns]\nfull_window = true\n"])
async def test_an_answer_that_could_not_be_stored_lets_no_other_turn_begin(
    tmp_path: Path, more: str
) -> None:
    async with stage(tmp_path, Message((Text("It is two."),), hold=0), more) as (slack, api, moot):
        await say(slack, "one")
        await until(lambda: len(turns_of(moot, "turn.posted")) == 1)
        await say(slack, *NUMBERS[1:])
        await until(lambda: len(asked(api)) == 2)
        await asyncio.sleep(1.0)
        _, most = resource.prlimit(moot.pid, resource.RLIMIT_FSIZE)
        size = (tmp_path / "data" / "moot.db-wal").stat().st_size
        resource.prlimit(moot.pid, resource.RLIMIT_FSIZE, (size, most))
        api.release.set()
        await until(lambda: "turn.put_aside" in moot.log())
        resource.prlimit(moot.pid, resource.RLIMIT_FSIZE, (most, most))
        await until(lambda: len(slack.texts(DM)) == 4)
        assert slack.texts(DM) == [f"It is {number}." for number in NUMBERS]
        last = [re.findall("say (one|two|three|four)", body)[-1] for body in asked(api)]
        assert last == ["one", "two", "two", "three", "four"]
