"""Slack's payloads on their way in: over a socket that we open, or over HTTP that Slack calls.

The SDK's client holds the socket; over HTTP Bolt parses and answers, in a middleware of which the
taking happens. Both ways a payload is acknowledged only when it was taken. One whose taking fails
is not acknowledged, and Slack sends it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import structlog
from aiohttp import web
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from bots.slack.api import SDK_LOG, SlackApi, SlackRefused
from contract.errors import MootError, PlatformError

if TYPE_CHECKING:
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.response import BoltResponse

log = structlog.stdlib.get_logger("moot.bots")

Take = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes one payload; when it returns, the payload may be acknowledged."""

_PING_S = 8.0
_LOOK_S = 0.5  # how often the connection is looked at
_CONNECT_S = 7.0  # less than the ping interval, after which the SDK tries a used-up URL again
_LONGEST_REST_S = 30.0
_MOST_FAILURES = 6  # in a row; then the bot's supervisor has it
_CLOSE_S = 3.0

# Slack's own rule against replays.
_SIGNATURE_AGE_S = 300


async def _taken(take: Take, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Take a payload; the body of its acknowledgement, None for none. Raises what `take` raises."""
    try:
        await take(body)
    except MootError as error:  # e.g. the database is away
        log.warning("event.not_taken", reason=str(error))
        raise
    except Exception:
        log.exception("event.not_taken", reason="it will come again")
        raise
    return _echo(body) if "command" in body and "type" not in body else None


def _echo(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a slash command: whoever gave it sees it again, and nobody else."""
    said = f"{body['command']} {body.get('text') or ''}".replace("`", "'").strip()
    return {"response_type": "ephemeral", "text": f"`{said}`"}


# ── HTTP ────────────────────────────────────────────────────────────────────────────────


def signed(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """True if Slack wrote this, and lately."""
    stamp = headers.get("X-Slack-Request-Timestamp", "")
    given = headers.get("X-Slack-Signature", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        return False
    if not secret or abs(now - int(stamp)) > _SIGNATURE_AGE_S:
        return False
    basis = b"v0:" + stamp.encode() + b":" + body
    expected = "v0=" + hmac.new(secret.encode(), basis, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogateescape"))


def http_handler(
    token: str, secret: str, take: Take, now: Callable[[], float]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """An aiohttp handler for Slack's events and button presses. token: the bot's; secret: Slack
    signs with it."""
    from slack_bolt.adapter.aiohttp import to_aiohttp_response
    from slack_bolt.request.async_request import AsyncBoltRequest

    app = _bolt(token, secret, take)

    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        if not signed(secret, request.headers, body, now()):
            return web.json_response({"error": "invalid request"}, status=401)
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return web.json_response({"error": "not UTF-8"}, status=400)
        if not _is_payload(text, request.content_type):
            return web.json_response({"error": "no payload of Slack's"}, status=400)
        headers: dict[str, str | Sequence[str]] = dict(request.headers.items())
        asked = AsyncBoltRequest(body=text, query=request.query_string, headers=headers)
        return await to_aiohttp_response(await app.async_dispatch(asked))

    return handle


def _bolt(token: str, signing_secret: str, take: Take) -> AsyncApp:
    """A Bolt app with which every payload ends in `take`."""
    from slack_bolt.app.async_app import AsyncApp
    from slack_bolt.response import BoltResponse

    async def before_authorize(
        body: Mapping[str, Any], next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        if body.get("type") == "url_verification":
            return await next()
        told = await _taken(take, body)
        return BoltResponse(status=200, body="" if told is None else dict(told))

    return AsyncApp(
        name="slack",
        token=token,
        signing_secret=signing_secret,
        before_authorize=before_authorize,
        request_verification_enabled=False,  # `signed` does it, on the raw bytes
        ignoring_self_events_enabled=False,
        ssl_check_enabled=False,
        attaching_function_token_enabled=False,
        logger=SDK_LOG,
    )


def _is_payload(text: str, content_type: str) -> bool:
    """True if Bolt can read it: a JSON object, also as a form's `payload`; or a slash command."""
    if content_type == "application/x-www-form-urlencoded":
        form = dict(parse_qsl(text))
        if "payload" not in form:
            return "command" in form or "ssl_check" in form
        text = form["payload"]
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


# ── Socket Mode ─────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def open_socket(take: Take, app_token: str, api_url: str) -> AsyncIterator[SocketModeClient]:
    """The SDK's socket, not yet connected; closed on leaving. Its payloads end in `take`."""
    client = SocketModeClient(
        app_token,
        logger=SDK_LOG,
        web_client=AsyncWebClient(app_token, api_url, logger=SDK_LOG),
        ping_interval=_PING_S,
    )

    async def answer(_: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        told = await _taken(take, request.payload)  # the SDK passes over what this raises
        payload = None if told is None else dict(told)
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))

    client.socket_mode_request_listeners.append(answer)
    # The SDK's own way back waits for its ping interval and never ends.
    client.auto_reconnect_enabled = client.default_auto_reconnect_enabled = False
    try:
        yield client
    finally:
        await _close(client)


async def keep_connected(
    client: SocketModeClient,
    api: SlackApi,
    *,
    cut: Callable[[], None],
    connected: Callable[[], None],
) -> None:
    """Connect, and connect again whenever the connection is lost, until cancelled.

    api: with the app's token. cut: told before each connection; connected: after it. Raises
    PlatformError when Slack refuses or stays out of reach.
    """
    failures, session = 0, client.current_session
    while True:
        if not await client.is_connected():
            cut()
            if await _connected(client, api, failures):
                failures = 0
            else:
                failures += 1
            if failures >= _MOST_FAILURES:
                raise PlatformError("Slack's socket can't be opened", outcome="retry")
        else:
            failures = 0
        if not failures and client.current_session is not session:
            session = client.current_session
            cut()  # when Slack asks for it the SDK connects again by itself
            connected()
        await asyncio.sleep(_rest_s(failures) if failures else _LOOK_S)


async def _connected(client: SocketModeClient, api: SlackApi, failures: int) -> bool:
    try:
        async with asyncio.timeout(_CONNECT_S), client.connect_operation_lock:
            if await client.is_connected():
                return True
            answer = await api.call("apps.connections.open")
            client.wss_uri = str(answer["url"])  # good for one connection
            await client.connect()  # type: ignore[no-untyped-call]
    except SlackRefused:
        raise
    except (PlatformError, TimeoutError) as error:
        why = str(error) or "no connection in time"
        log.warning("bot.unreachable", attempt=failures + 1, reason=why)
        return False
    log.info("bot.connected", platform="slack")
    return True


def _rest_s(failures: int) -> float:
    return min(2.0**failures, _LONGEST_REST_S) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


async def _close(client: SocketModeClient) -> None:
    tasks = [client.message_processor, client.current_session_monitor, client.message_receiver]
    try:
        async with asyncio.timeout(_CLOSE_S):
            await client.close()  # type: ignore[no-untyped-call]
    except TimeoutError:
        log.info("socket.not_closed", platform="slack")
        await client.aiohttp_client_session.close()
    await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)
