"""Slack's Web API: one way to call it, and one place where its failures become ours.

The SDK's client makes a form of several parts, a request to try again and an answer with pages of
each call, half of what a post takes; and its own retries repeat a post whose connection was reset
after Slack had taken it. So calls go straight to the pool, as the client's headers and proxy say.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from bots.kit.http_pool import HttpPool, call_errors, file_errors, read_file
from bots.kit.retry import retry_after_s
from contract.errors import PlatformError

# The SDK's log holds message texts (DEBUG), forged bodies (INFO) and tickets (ERROR). What matters
# of it we say ourselves.
SDK_LOG = logging.getLogger("moot.bots.slack_sdk")
SDK_LOG.setLevel(logging.CRITICAL)

# `ok: false` with one of these says nothing about whether the call was carried out.
_UNSURE = {"internal_error", "fatal_error", "request_timeout", "service_unavailable"}
_LATER = {"ratelimited", "rate_limited"}
DEAD_TOKEN = {
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
}
NO_METHOD = {"unknown_method", "method_not_allowed", "HTTP 404", "HTTP 405"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_REMEDY = {
    "not_in_channel": "invite the bot: /invite @its-name",
    "channel_not_found": "invite the bot to the channel: /invite @its-name",
    "is_archived": "the channel is archived",
    "msg_too_long": "the text is too long for one message",
    "restricted_action": "a workspace setting forbids it",
}


class SlackRefused(PlatformError):
    """Slack said no. `code` is its own word for why, e.g. "channel_not_found"."""

    def __init__(self, method: str, code: str, needed: str = "") -> None:
        why = f"it needs the scope {needed}" if needed else _REMEDY.get(code, "")
        super().__init__(
            f"Slack refused {method}: {code}" + (f" ({why})" if why else ""), outcome="refused"
        )
        self.code = code


class SlackApi:
    """Calls with one token, over one pool of connections that opens at the first call."""

    def __init__(
        self,
        token: str,
        api_url: str,
        *,
        now: Callable[[], float],
        timeout_s: float = 20.0,
    ) -> None:
        self._token, self._url = token, api_url if api_url.endswith("/") else api_url + "/"
        self._now, self._timeout_s = now, timeout_s
        self._pool = HttpPool()
        self._how: dict[str, Any] | None = None  # headers and proxy of every call
        self._closed_until: dict[tuple[str, object], float] = {}

    async def close(self) -> None:
        await self._pool.close()

    async def call(self, method: str, /, **args: object) -> Mapping[str, Any]:
        """Slack's answer. Raises PlatformError.

        A call that Slack put off (429) isn't made again before its time, per method and channel.
        """
        return (await self._answer(method, args))[0]

    async def identity(self) -> tuple[Mapping[str, Any], frozenset[str]]:
        """auth.test's answer, and the scopes of the token; none where Slack doesn't tell."""
        told, headers = await self._answer("auth.test", {})
        scopes = headers.get("x-oauth-scopes", "").replace(",", " ").split()
        return told, frozenset(scopes)

    async def _answer(
        self, method: str, args: Mapping[str, object]
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """Slack's answer, and its headers, whose names may be asked for in any case."""
        place = (method, args.get("channel"))
        wait_s = self._closed_until.get(place, 0.0) - self._now()
        if wait_s > 0:
            raise PlatformError(
                f"Slack asked to wait with {method}", outcome="retry", retry_after_s=wait_s
            )
        self._closed_until.pop(place, None)
        # The one shape of arguments that every method takes.
        form = {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in args.items()
            if value is not None
        }
        data, post = urlencode(form).encode(), self._pool.session().post
        with call_errors("Slack", f"Slack: {method}"):
            async with (
                asyncio.timeout(self._timeout_s),
                post(self._url + method, data=data, **(self._how or self._made())) as response,
            ):
                raw = await response.read()
        told = _read(method, response, raw)
        if response.status == 200 and told.get("ok"):
            return told, response.headers
        failed = _failure(method, response, told)
        if failed.outcome == "retry":
            self._closed_until[place] = self._now() + failed.retry_after_s
        raise failed

    async def pages(
        self, method: str, field: str, *, pages: int, **args: object
    ) -> AsyncGenerator[Any, None]:
        """The entries under `field`, page after page. More pages than told: PlatformError."""
        cursor = ""
        for _ in range(pages):
            answer = await self.call(method, **args, cursor=cursor or None)
            for entry in answer.get(field) or ():
                yield entry
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return
        raise PlatformError(f"Slack: {method} has more than {pages} pages", outcome="unknown")

    async def read(self, url: str, max_bytes: int, timeout_s: float) -> tuple[bytes, str]:
        """A private file's bytes and MIME type. The token travels to Slack's own hosts only."""
        if (target := self._own_url(url)) is None:
            raise PlatformError("not a file of Slack's", outcome="refused")
        headers = {"Authorization": f"Bearer {self._token}"}
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self._pool.session().get(target, headers=headers) as answer,
            ):
                return await read_file(answer, max_bytes)

    async def send(self, url: str, data: bytes) -> None:
        """Bytes to an upload URL that Slack gave. Nothing is seen of them yet: safe to repeat."""
        with file_errors("an upload"):
            async with (
                asyncio.timeout(self._timeout_s + len(data) / 100_000),
                self._pool.session().post(url, data=data) as answer,
            ):
                if answer.status != 200:
                    raise PlatformError(f"an upload: HTTP {answer.status}", outcome="retry")

    def _own_url(self, text: str) -> URL | None:
        """The URL if it leads to Slack."""
        try:
            url = URL(text)
            host = url.host or ""
            if url.origin() == URL(self._url).origin():
                return url
        except ValueError:
            return None
        own = host == "slack.com" or host.endswith(".slack.com")
        return url if own and url.scheme == "https" else None

    def _made(self) -> dict[str, Any]:
        client = AsyncWebClient(self._token, self._url, logger=SDK_LOG)
        headers = {**client.headers, "Authorization": f"Bearer {self._token}", **_FORM}
        self._how = {"headers": headers, "proxy": client.proxy}
        return self._how


def _read(method: str, response: aiohttp.ClientResponse, raw: bytes) -> dict[str, Any]:
    """The JSON of an answer; none where it is something else. Raises PlatformError where torn."""
    if "json" not in response.content_type:
        return {}
    try:
        told = json.loads(raw)
    except ValueError as error:
        raise PlatformError(f"Slack: {method}: a garbled answer", outcome="unknown") from error
    return told if isinstance(told, dict) else {}


def _failure(
    method: str, response: aiohttp.ClientResponse, data: Mapping[str, Any]
) -> PlatformError:
    code = str(data.get("error") or "")
    if response.status == 429 or code in _LATER:
        return PlatformError(
            f"Slack asked to wait with {method}",
            outcome="retry",
            retry_after_s=retry_after_s(response.headers),
        )
    if response.status >= 500 or code in _UNSURE or (response.status == 200 and not code):
        why = code or f"HTTP {response.status}"
        return PlatformError(f"Slack: {method}: {why}", outcome="unknown")
    needed = str(data.get("needed") or "")
    return SlackRefused(method, code or f"HTTP {response.status}", needed)
