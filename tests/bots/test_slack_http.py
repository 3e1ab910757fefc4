"""The bot in HTTP mode, its routes mounted in somebody else's server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bots.slack.bot import SlackBot
from bots.slack.connection import signed
from contract.agent import Option, Question
from contract.chat import Chosen, Destination, Room
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.slack import BOT_USER, GENERAL, SlackDouble

MakeSlackBot = Callable[..., SlackBot]


@asynccontextmanager
async def served(slack: SlackDouble, bot: SlackBot, inbox: Inbox) -> AsyncIterator[str]:
    app = web.Application()
    app.add_routes(bot.routes())
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    slack.delivery.events_url = url = f"http://127.0.0.1:{port}/slack/events"
    ignored = b'{"type":"event_callback","event":{"type":"team_join"}}'
    async with running(bot, inbox):
        async with asyncio.timeout(PATIENCE_S):  # 500 as long as it isn't running
            while (await posted(url, ignored, stamped(slack, ignored)))[0] != 200:
                await asyncio.sleep(0.01)
        yield url
    await runner.cleanup()


async def settled(slack: SlackDouble) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await slack.delivery.settled()


async def posted(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def test_events_come_over_http_and_are_acknowledged(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with served(slack, slack_bot(mode="http"), inbox):
        await slack.say(f"<@{BOT_USER}> hé")
        await inbox.kept(1)
        await settled(slack)
    assert len(inbox.events) == 1
    assert [envelope.statuses for envelope in slack.delivery.envelopes] == [[200], [200]]
    assert slack.called("apps.connections.open") == []


async def test_an_event_that_could_not_be_stored_comes_again(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    inbox.failures.append(OSError("no space left on device"))
    async with served(slack, slack_bot(mode="http"), inbox):
        await slack.say("hello")
        await inbox.kept(1)
        await settled(slack)
    assert slack.delivery.envelopes[0].statuses == [500, 200]


async def test_an_event_whose_storing_takes_too_long_comes_again_and_is_told_twice(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    inbox.gate.clear()
    async with served(slack, slack_bot(mode="http"), inbox):
        await slack.say("hello")
        await inbox.knocked(1)
        async with asyncio.timeout(PATIENCE_S):
            while slack.delivery.envelopes[0].sent < 2:
                await asyncio.sleep(0.01)
        inbox.gate.set()
        await settled(slack)
        await inbox.kept(1)
    assert slack.delivery.envelopes[0].statuses[0] == 0
    assert slack.delivery.envelopes[0].acked.is_set()


async def test_a_button_comes_as_a_form(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot(mode="http")
    place = Destination(Room(f"slack:{GENERAL}", "general"))
    async with served(slack, bot, inbox):
        asked = await bot.ask(place, Question("q", "Go?", "", (Option("Ja"), Option("Nein"))), "k")
        await slack.press(GENERAL, asked, "Nein")
        (chosen,) = await inbox.kept(1)
        await settled(slack)
    assert isinstance(chosen, Chosen)
    assert (chosen.question_id, chosen.option) == ("q", 1)


async def test_slack_checks_the_url_and_hears_its_challenge(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    body = b'{"type":"url_verification","token":"x","challenge":"3eZbrw1aB"}'
    async with served(slack, slack_bot(mode="http"), inbox) as url:
        headers = stamped(slack, body)
        status, text = await posted(url, body, headers)
        unsigned, _ = await posted(url, body, {"Content-Type": "application/json"})
    assert (status, "3eZbrw1aB" in text, unsigned) == (200, True, 401)


def stamped(slack: SlackDouble, body: bytes, stamp: str | None = None) -> dict[str, str]:
    stamp = stamp or str(int(time.time()))
    headers = {"Content-Type": "application/json", "X-Slack-Request-Timestamp": stamp}
    return {**headers, "X-Slack-Signature": slack.delivery.signature(stamp, body)}


@pytest.mark.parametrize("forgery", ["unsigned", "other body", "stale", "odd stamp", "odd sign"])
async def test_what_slack_did_not_sign_is_refused_and_not_told(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot, forgery: str
) -> None:
    body = b'{"type":"event_callback","event":{"type":"message","channel":"C1","ts":"1.1"}}'
    headers = stamped(slack, body)
    match forgery:
        case "unsigned":
            del headers["X-Slack-Signature"]
        case "other body":
            headers = stamped(slack, body + b" ")
        case "stale":
            headers = stamped(slack, body, "1776754921")
        case "odd stamp":
            headers["X-Slack-Request-Timestamp"] = "²" * 3
        case "odd sign":
            headers["X-Slack-Signature"] = "v0=é"
    async with served(slack, slack_bot(mode="http"), inbox) as url:
        status, _ = await posted(url, body, headers)
    assert status == 401
    assert inbox.arrived == 0


async def test_a_body_that_is_no_json_is_no_event(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    async with served(slack, slack_bot(mode="http"), inbox) as url:
        statuses = [
            (await posted(url, body, stamped(slack, body)))[0]
            for body in (b"\xff\xfe", b"{nonsense", b"[]", b"")
        ]
    assert inbox.arrived == 0
    assert all(status in (200, 400, 500) for status in statuses)


async def test_nothing_is_acknowledged_while_the_bot_is_not_running(
    slack: SlackDouble, inbox: Inbox, slack_bot: MakeSlackBot
) -> None:
    bot = slack_bot(mode="http")
    app = web.Application()
    app.add_routes(bot.routes())
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.delivery.events_url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    await slack.say("too early")
    await settled(slack)
    await runner.cleanup()
    assert not slack.delivery.envelopes[0].acked.is_set()


def test_in_socket_mode_there_is_nothing_to_mount(slack_bot: MakeSlackBot) -> None:
    assert slack_bot().routes() == []


def test_an_empty_secret_signs_nothing() -> None:
    values: dict[str, Any] = {"X-Slack-Request-Timestamp": "100", "X-Slack-Signature": "v0="}
    assert not signed("", values, b"", 100.0)
