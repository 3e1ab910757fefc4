"""The double itself, checked by published clients that know nothing of it: slack-bolt for Python
and @slack/bolt for JavaScript, each as an echo bot in Socket Mode and over HTTP.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from tests.doubles.inbox import PATIENCE_S, until
from tests.doubles.slack import BOT_USER, GENERAL, OLIVIA, Fault, SlackDouble

CLIENTS = Path(__file__).parent.parent / "clients"


# ── slack-bolt for Python ───────────────────────────────────────────────────────────────────


async def mentioned(event: dict[str, Any], client: AsyncWebClient) -> None:
    who = await client.users_info(user=event["user"])
    name = who["user"]["profile"]["display_name"]
    place = {"channel": event["channel"], "timestamp": event["ts"]}
    posted = await client.chat_postMessage(
        channel=event["channel"],
        thread_ts=event["ts"],
        text=f"{name}: {event['text']}",
        blocks=[
            {"type": "section", "text": {"type": "mrkdwn", "text": f"{name}: {event['text']}"}},
            {"type": "actions", "elements": [button()]},
        ],
        metadata={"event_type": "echo", "event_payload": {"of": event["ts"]}},
    )
    rooms = await client.users_conversations(types=["public_channel", "im"])
    assert event["channel"] in [room["id"] for room in rooms["channels"]]
    since = await client.conversations_history(channel=event["channel"], oldest=event["ts"])
    assert not [m for m in since["messages"] if m["ts"] == event["ts"] or m.get("bot_id")]
    await client.pins_add(channel=event["channel"], timestamp=posted["ts"])
    await client.reactions_add(name="eyes", **place)
    await client.reactions_remove(name="eyes", **place)
    thread = await client.conversations_replies(channel=event["channel"], ts=event["ts"])
    await client.chat_update(
        channel=event["channel"],
        ts=posted["ts"],
        text=f"{posted['message']['text']} ({len(thread['messages'])})",
        blocks=posted["message"]["blocks"],
    )
    await client.chat_postMessage(
        channel=event["channel"],
        thread_ts=event["ts"],
        text="under another name",
        username="reviewer",
        icon_url="https://example.org/r.png",
    )
    await client.files_upload_v2(
        channel=event["channel"],
        thread_ts=event["ts"],
        filename="echo.txt",
        content=event["text"],
        initial_comment="as a file",
    )


def echo_app(slack: SlackDouble) -> AsyncApp:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=2))
    app = AsyncApp(client=client, signing_secret=slack.signing_secret)

    app.event("app_mention")(mentioned)

    @app.event("pin_added")
    async def pinned(event: dict[str, Any], client: AsyncWebClient) -> None:
        place = {"channel": event["channel_id"], "timestamp": event["item"]["message"]["ts"]}
        await client.reactions_add(name="pushpin", **place)

    @app.event("reaction_added")
    @app.event("reaction_removed")
    async def reacted() -> None:
        pass

    @app.event("message")
    async def said() -> None:
        pass

    @app.action("go")
    async def pressed(ack: Any, body: dict[str, Any], client: AsyncWebClient) -> None:
        await ack()
        channel, message = body["channel"], body["message"]
        await client.chat_update(channel=channel["id"], ts=message["ts"], text="gone", blocks=[])

    return app


def button() -> dict[str, Any]:
    label = {"type": "plain_text", "text": "Go"}
    return {"type": "button", "action_id": "go", "value": "v", "text": label}


@asynccontextmanager
async def python_over_socket(slack: SlackDouble) -> AsyncIterator[None]:
    web_client = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
    handler = AsyncSocketModeHandler(echo_app(slack), slack.app_token, web_client=web_client)
    tasks = handler.client
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call]
        yield
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]
        owned = (tasks.message_processor, tasks.current_session_monitor, tasks.message_receiver)
        await asyncio.gather(*(t for t in owned if t is not None), return_exceptions=True)


@asynccontextmanager
async def python_over_http(slack: SlackDouble) -> AsyncIterator[None]:
    runner = web.AppRunner(echo_app(slack).web_app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.delivery.events_url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    try:
        yield
    finally:
        await runner.cleanup()


# ── @slack/bolt for JavaScript ──────────────────────────────────────────────────────────────


def need_node() -> str:
    """Node with the clients installed; without, the test is skipped, or fails where CI is set."""
    node = shutil.which("node")
    reason = "needs Node.js" if node is None else "needs `npm ci` in tests/clients"
    if node is not None and (CLIENTS / "node_modules" / "@slack" / "bolt").is_dir():
        return node
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@asynccontextmanager
async def javascript(slack: SlackDouble, mode: str, port: int) -> AsyncIterator[None]:
    node = need_node()
    environment = {
        "PATH": os.environ["PATH"],
        "SLACK_API_URL": slack.api_url,
        "MODE": mode,
        "PORT": str(port),
        "BOT_TOKEN": slack.bot_token,
        "APP_TOKEN": slack.app_token,
        "SIGNING_SECRET": slack.signing_secret,
    }
    process = await asyncio.create_subprocess_exec(
        node,
        "slack_echo.mjs",
        cwd=CLIENTS,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = await process.stdout.readline()
        rest = b"" if line == b"ready\n" else await process.stdout.read()
        assert line == b"ready\n", (line + rest).decode()
        if mode == "http":
            slack.delivery.events_url = f"http://127.0.0.1:{port}/slack/events"
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def client(kind: str, slack: SlackDouble, port: int) -> AsyncIterator[None]:
    language, mode = kind.split()
    if language == "javascript":
        async with javascript(slack, mode, port):
            yield
    elif mode == "socket":
        async with python_over_socket(slack):
            yield
    else:
        async with python_over_http(slack):
            yield


KINDS = ["python socket", "python http", "javascript socket", "javascript http"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_published_client_works_against_the_double(
    slack: SlackDouble, unused_tcp_port: int, kind: str
) -> None:
    slack.delivery.ack_s = PATIENCE_S
    async with client(kind, slack, unused_tcp_port):
        asked = await slack.say(f"<@{BOT_USER}> hello")
        await until(lambda: any(f.shared for f in slack.files.values()))
        await slack.delivery.settled()
        echo = f"Olivia: <@{BOT_USER}> hello (2)"
        assert slack.texts() == [echo, "as a file"]
        (answer,) = (m for m in slack.messages[GENERAL].values() if m["text"] == echo)
        assert answer["thread_ts"] == asked
        assert answer["metadata"]["event_payload"] == {"of": asked}
        assert next(iter(slack.files.values())).data == f"<@{BOT_USER}> hello".encode()
        (named,) = (m for m in slack.messages[GENERAL].values() if "username" in m)
        assert (named["username"], named["subtype"]) == ("reviewer", "bot_message")
        assert answer["pinned_to"] == [GENERAL]
        await slack.pin(GENERAL, asked)
        await until(lambda: slack.messages[GENERAL][asked]["reactions"] == ["pushpin"])
        await slack.press(GENERAL, answer["ts"], "Go")
        await until(lambda: answer["text"] == "gone")
        assert answer["blocks"] == []
    told = [e for e in slack.delivery.envelopes if e.payload.get("event", {}).get("ts") == asked]
    assert [e.acked.is_set() for e in told] == [True, True]


@pytest.mark.parametrize("kind", ["javascript socket", "javascript http"])
async def test_a_published_client_is_given_slash_commands(
    slack: SlackDouble, unused_tcp_port: int, kind: str
) -> None:
    slack.delivery.ack_s = PATIENCE_S
    async with client(kind, slack, unused_tcp_port):
        if kind.endswith("socket"):
            await slack.delivery.connected()
        given = slack.command("pin a &lt; b")
        await until(lambda: bool(slack.whispers))
        await slack.delivery.settled()
    assert given.answer == {"response_type": "ephemeral", "text": "taken: pin a &lt; b"}
    assert slack.whispers == [(GENERAL, OLIVIA, "whispered: pin a &lt; b")]


@pytest.mark.parametrize("kind", ["python socket", "javascript socket"])
async def test_a_published_client_comes_back_when_it_is_asked_to_reconnect(
    slack: SlackDouble, unused_tcp_port: int, kind: str
) -> None:
    async with client(kind, slack, unused_tcp_port):
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.connected()
            await slack.delivery.disconnect()
            await slack.delivery.reconnected(2)
        await slack.say(f"<@{BOT_USER}> again")
        await until(lambda: "as a file" in slack.texts())


@pytest.mark.parametrize("kind", KINDS)
async def test_a_published_client_waits_when_it_is_asked_to(
    slack: SlackDouble, unused_tcp_port: int, kind: str
) -> None:
    slack.delivery.ack_s = PATIENCE_S
    slack.fail("chat.postMessage", Fault("429", retry_after_s=0))
    async with client(kind, slack, unused_tcp_port):
        await slack.say(f"<@{BOT_USER}> hello")
        await until(lambda: "as a file" in slack.texts())
    assert len(slack.called("chat.postMessage")) == 3  # the first one twice


async def test_each_event_goes_to_one_of_two_connections(slack: SlackDouble) -> None:
    slack.delivery.ack_s = PATIENCE_S
    async with python_over_socket(slack), python_over_socket(slack):
        async with asyncio.timeout(PATIENCE_S):
            await slack.delivery.connected(2)
        for _ in range(4):
            await slack.say(f"<@{BOT_USER}>")
        await until(lambda: slack.texts().count("as a file") == 4)
    assert len([t for t in slack.texts() if t != "as a file"]) == 4


async def test_a_ticket_is_good_for_one_connection(slack: SlackDouble) -> None:
    api = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
    url = (await api.apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as socket:
            assert (await socket.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda c: c.chat_postMessage(channel="C0NOWHERE", text="x"), "channel_not_found"),
        (lambda c: c.api_call("chat.postMessage", data={"channel": GENERAL}), "no_text"),
        (
            lambda c: c.chat_postMessage(channel=GENERAL, text="x", thread_ts="1.1"),
            "thread_not_found",
        ),
        (
            lambda c: c.chat_update(channel=GENERAL, ts="1776754921.000200", text="x"),
            "message_not_found",
        ),
        (lambda c: c.reactions_add(channel=GENERAL, timestamp="x", name="eyes"), "bad_timestamp"),
        (lambda c: c.users_info(user="U0NOBODY"), "user_not_found"),
        (lambda c: c.api_call("no.such"), "unknown_method"),
    ],
)
async def test_the_double_refuses_what_slack_refuses(
    slack: SlackDouble, call: Callable[[AsyncWebClient], Any], code: str
) -> None:
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    with pytest.raises(SlackApiError) as caught:
        await call(api)
    assert caught.value.response["error"] == code


async def test_the_double_takes_4000_bytes_in_an_edit_and_no_more(slack: SlackDouble) -> None:
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    ts = (await api.chat_postMessage(channel=GENERAL, text="x"))["ts"]
    await api.chat_update(channel=GENERAL, ts=ts, text="é" * 2_000)
    with pytest.raises(SlackApiError, match="msg_too_long"):
        await api.chat_update(channel=GENERAL, ts=ts, text="é" * 2_000 + "x")
