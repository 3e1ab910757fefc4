"""Discord's HTTP API: one way to call it, and one place where its failures become ours.

discord.py keeps the rate limits and repeats what failed for the moment (429, 500, 502, 504); a
post that it repeats carries a nonce, with which Discord makes one message of both.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import aiohttp
from discord.errors import DiscordException, HTTPException, LoginFailure, RateLimited
from discord.http import HTTPClient, Route
from yarl import URL

from bots.discord.wire import WireChannel, WireThreadList
from bots.kit.http_pool import HttpPool, file_errors, read_file, reason_of, unreachable
from bots.kit.retry import retry_after_s
from contract.errors import PlatformError

# The library's log holds message texts (DEBUG) and the tokens of interactions (WARNING). What
# matters of it we say ourselves.
logging.getLogger("discord").setLevel(logging.CRITICAL)

OFFICIAL = "https://discord.com/api/v10"
_CDN = {"cdn.discordapp.com", "media.discordapp.net"}
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
PAGE = 100  # messages, members or threads a call

# Of the private threads those that the bot is in.
PRIVATE_ARCHIVE = "users/@me/threads/archived/private"
ARCHIVES = ("threads/archived/public", PRIVATE_ARCHIVE)

# Five tries of discord.py's take 25 s; a call that hangs longer than this is given up.
_TIMEOUT_S = 60.0
_CONNECT_S = 10.0

_NOT_IMPLEMENTED = 501  # another server than Discord's own: it does without the call

UNKNOWN_MESSAGE, UNKNOWN_INTERACTION = 10008, 10062
_REMEDY = {
    10003: "the channel is gone, or the bot may not see it",
    30046: "too many edits of an old message",
    40005: "the file is too large",
    50001: "let the bot's role view the channel",
    50007: "they don't take direct messages from the bot",
    50013: "give the bot's role the permission in the channel",
    50083: "the thread is archived",
    160005: "the thread is locked",
}


class DiscordRefused(PlatformError):
    """Discord said no. code: its own number for why, 0 without; status: HTTP's."""

    def __init__(self, method: str, status: int, code: int, text: str) -> None:
        why = _REMEDY.get(code) or text or f"HTTP {status}"
        super().__init__(f"Discord refused {method}: {why}", outcome="refused")
        self.status, self.code = status, code


class DiscordHttp(HTTPClient):
    """discord.py's HTTP client, for whatever server speaks Discord's language."""

    def __init__(self, api_url: str, gateway_url: str | None) -> None:
        super().__init__(asyncio.get_running_loop())
        self.api_url, self.gateway_url = api_url, gateway_url

    async def request(self, route: Route, **options: Any) -> Any:
        """The decoded answer. A route knows Discord's own address only."""
        if route.url.startswith(Route.BASE):
            route.url = self.api_url + route.url.removeprefix(Route.BASE)
        answer = await super().request(route, **options)
        if isinstance(answer, str) and answer[:1] in ("{", "["):
            return _decoded(answer)  # JSON under a content type that discord.py doesn't know
        return answer

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """Open the gateway; at the address that we were given where the library would take its
        own."""
        target = URL(url)
        if self.gateway_url and (target.host or "").endswith("discord.gg"):
            target = URL(self.gateway_url).with_query(target.query)
        return await super().ws_connect(str(target), compress=compress)


class DiscordApi:
    """Calls with one token, over one pool of connections that opens at the first call.

    api_url: with its version. gateway_url: None: the server is asked for it.
    """

    def __init__(
        self,
        token: str,
        api_url: str = OFFICIAL,
        gateway_url: str | None = None,
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self.token = token.strip().removeprefix("Bot ")
        self.api_url = _versioned(api_url)
        self._gateway_url, self._timeout_s = gateway_url, timeout_s
        self._http: DiscordHttp | None = None
        self._files = HttpPool(_CONNECT_S)
        self._opening = asyncio.Lock()
        self.me: Mapping[str, Any] = {}

    async def close(self) -> None:
        """Let go of the connections; a call after that opens them again."""
        http, self._http = self._http, None
        if http is not None:
            await http.close()
        await self._files.close()

    async def call(
        self,
        method: str,
        path: str,
        /,
        *,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        query: Mapping[str, object] | None = None,
        form: list[dict[str, Any]] | None = None,
        timeout_s: float | None = None,
        **ids: str,
    ) -> Any:
        """Discord's answer, decoded. ids: what the path names in braces. Raises PlatformError.

        timeout_s: for a call that is not worth the usual patience.
        """
        what = f"{method} {path}"
        options: dict[str, Any] = {}
        if body is not None:
            options["json"] = body
        if query:
            options["params"] = {name: str(value) for name, value in query.items()}
        if form is not None:
            options["form"] = form
        try:
            async with asyncio.timeout(timeout_s or self._timeout_s):
                http = await self._opened()
                return await http.request(Route(method, path, **ids), **options)
        except (DiscordException, aiohttp.ClientError, OSError) as error:
            _raise_for(what, error)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            # an answer that discord.py can't read, or connections that were closed meanwhile
            _raise_for(what, error)

    async def _opened(self) -> DiscordHttp:
        async with self._opening:
            if self._http is None:
                http = DiscordHttp(self.api_url, self._gateway_url)
                try:
                    self.me = await http.static_login(self.token)
                except BaseException:
                    await http.close()
                    raise
                self._http = http
            return self._http

    async def messages(
        self, channel: str, after: str, *, pages: int | None = None
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """A channel's messages after that id, oldest first. pages: at most so many calls."""
        while pages is None or pages > 0:
            found = await self.call(
                "GET",
                "/channels/{channel_id}/messages",
                query={"after": after, "limit": PAGE},
                channel_id=channel,
            )
            newer = sorted(
                (m for m in _dicts(found) if _number(m.get("id")) > _number(after)),
                key=lambda m: _number(m["id"]),
            )
            for message in newer:
                yield message
            if len(newer) < PAGE:
                return
            after = str(newer[-1]["id"])
            pages = pages - 1 if pages is not None else None

    async def archived(self, kind: str, channel: str, since: datetime) -> list[WireChannel]:
        """A channel's threads that were archived since then. kind: one of `ARCHIVES`.

        Raises PlatformError.
        """
        threads: list[WireChannel] = []
        query: dict[str, object] = {"limit": PAGE}
        while True:
            found = await self.call(
                "GET", f"/channels/{{channel_id}}/{kind}", query=query, channel_id=channel
            )
            listed = WireThreadList.model_validate(found if isinstance(found, dict) else {})
            fresh = [t for t in listed.threads if t.archived_at and t.archived_at >= since]
            threads += fresh
            if len(fresh) < PAGE:
                return threads
            last = fresh[-1]  # public ones come by the time of it, private ones by their id
            query["before"] = last.id if kind == PRIVATE_ARCHIVE else last.archived_at

    async def gateway_url(self) -> str | None:
        """The gateway's address, as the server gives it; None: where discord.py expects it."""
        if self._gateway_url or self.api_url == OFFICIAL:
            return self._gateway_url
        for path in ("/gateway/bot", "/gateway"):
            try:
                found = await self.call("GET", path)
            except DiscordRefused:
                continue
            if isinstance(found, dict) and found.get("url"):
                return str(found["url"])
        url = URL(self.api_url)
        return str(url.origin().with_scheme("wss" if url.scheme == "https" else "ws") / "")

    async def read(self, url: str, max_bytes: int, timeout_s: float) -> bytes:
        """The bytes of a file beside a message. No token travels there."""
        if (target := self._own_url(url)) is None:
            raise PlatformError("not a file of Discord's", outcome="refused")
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self._files.session().get(target, allow_redirects=False) as answer,
            ):
                return (await read_file(answer, max_bytes))[0]

    def _own_url(self, text: str) -> URL | None:
        """The URL if it leads to Discord's files, or to the host of the API."""
        try:
            url = URL(text)
        except ValueError:
            return None
        api_host = URL(self.api_url).host
        if url.host and (url.host == api_host or {url.host, api_host} <= _LOOPBACK):
            return url
        return url if url.scheme == "https" and url.host in _CDN else None


def _versioned(api_url: str) -> str:
    """The API's address with its version, which people leave out."""
    url = api_url.rstrip("/")
    path = URL(url).path.rstrip("/")
    return url + {"": "/api/v10", "/api": "/v10"}.get(path, "")


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _dicts(found: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _number(snowflake: object) -> int:
    text = str(snowflake)
    return int(text) if text.isascii() and text.isdigit() else 0


def _raise_for(what: str, error: Exception) -> NoReturn:
    if isinstance(error, LoginFailure):
        raise DiscordRefused(what, 401, 0, "the token is refused") from error
    if isinstance(error, RateLimited):
        raise PlatformError(
            f"Discord asked to wait with {what}",
            outcome="retry",
            retry_after_s=error.retry_after,
        ) from error
    if isinstance(error, HTTPException):
        _raise_for_status(what, error)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        raise unreachable("Discord", error) from error
    raise PlatformError(f"Discord: {what}: {reason_of(error)}", outcome="unknown") from error


def _raise_for_status(what: str, error: HTTPException) -> NoReturn:
    if error.status == 429:  # by Cloudflare, or when five waits were not enough
        headers: Mapping[str, str] = getattr(error.response, "headers", {})
        raise PlatformError(
            f"Discord asked to wait with {what}",
            outcome="retry",
            retry_after_s=retry_after_s(headers, "X-RateLimit-Reset-After"),
        ) from error
    if error.status >= 500 and error.status != _NOT_IMPLEMENTED:
        raise PlatformError(f"Discord: {what}: HTTP {error.status}", outcome="unknown") from error
    code, text = error.code, error.text
    told = _decoded(text) if code == 0 else None
    if isinstance(told, dict):  # JSON under a content type that discord.py doesn't know
        code, text = _number(told.get("code")), str(told.get("message") or "")
    raise DiscordRefused(what, error.status, code, text) from error
