"""Rocket.Chat's REST API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
from yarl import URL

from bots.kit.http_pool import HttpPool, call_errors, file_errors, read_file
from contract.errors import PlatformError

_LONGEST_WAIT_S = 120.0  # the server's windows are 60 s; a strange clock must not stop us

_WAIT = re.compile(r"must wait (\d+) seconds", re.IGNORECASE)
_TOO_MANY = ("too-many-requests", "too many requests")
_REMEDY = {
    "error-not-allowed": "the account lacks a permission, or isn't in the room",
    "error-action-not-allowed": "the account lacks a permission, or a setting forbids it",
    "error-message-size-exceeded": "the text is too long for one message",
    "error-room-archived": "the room is archived",
    "room_is_read_only": "the room is read-only: give the role bot the permission post-readonly",
}


class RocketRefused(PlatformError):
    """The server said no. code: its own word for why, e.g. "error-not-allowed"; status: HTTP."""

    def __init__(self, route: str, code: str, status: int) -> None:
        why = _REMEDY.get(code, "")
        super().__init__(
            f"Rocket.Chat refused {route}: {code}" + (f" ({why})" if why else ""),
            outcome="refused",
        )
        self.code, self.status = code, status


class RocketApi:
    """Calls with one account, over one pool of connections that opens at the first call.

    url: the server's. now: the time in seconds since 1970.
    """

    def __init__(self, url: str, *, now: Callable[[], float], timeout_s: float = 20.0) -> None:
        self.url = url.rstrip("/")
        self._now, self._timeout_s = now, timeout_s
        self._pool = HttpPool()
        self.http = self._pool.session
        self.close = self._pool.close
        self._headers: dict[str, str] = {}
        self._closed_until: dict[str, float] = {}
        self.server_date: str | None = None  # of the last answer, as its header says
        self.counted = False  # an answer said how many calls are left
        self.renew: Callable[[str], Awaitable[bool]] | None = None  # a token that ran out

    def sign_in(self, user_id: str, token: str) -> None:
        """Every later call carries these."""
        self._headers = {"X-User-Id": user_id, "X-Auth-Token": token}

    @property
    def signed_in(self) -> bool:
        return bool(self._headers)

    @property
    def token(self) -> str:
        return self._headers.get("X-Auth-Token", "")

    async def get(self, route: str, **query: str | int) -> Mapping[str, Any]:
        """The server's answer. Raises PlatformError."""
        return await self._signed(lambda: self._paced("GET", route, params=query))

    async def post(self, route: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The server's answer. Raises PlatformError.

        A call that was put off (429) isn't made again before its time, per route.
        """
        return await self._signed(lambda: self._paced("POST", route, json=body))

    async def login(self, username: str, password: str) -> tuple[str, str]:
        """User id and token. Raises PlatformError."""
        body = {"user": username, "password": password}
        told = (await self._paced("POST", "login", json=body)).get("data")
        if not isinstance(told, dict) or not told.get("userId") or not told.get("authToken"):
            raise PlatformError("Rocket.Chat: login: a garbled answer", outcome="retry")
        return str(told["userId"]), str(told["authToken"])

    async def send(
        self, route: str, name: str, data: bytes, mime: str, fields: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """A file in a form. Raises PlatformError."""
        timeout_s = self._timeout_s + len(data) / 100_000

        async def sent() -> Mapping[str, Any]:
            form = _form(name, data, mime, fields)  # can be sent once
            return await self._paced("POST", route, timeout_s=timeout_s, data=form)

        return await self._signed(sent)

    async def _signed(self, call: Callable[[], Awaitable[Mapping[str, Any]]]) -> Mapping[str, Any]:
        """The call's answer; with a new token where the old one has run out (401: not done)."""
        stale = self.token
        try:
            return await call()
        except RocketRefused as error:
            if error.status != 401 or self.renew is None or not await self.renew(stale):
                raise
        return await call()

    async def _paced(
        self, method: str, route: str, *, timeout_s: float | None = None, **args: Any
    ) -> Mapping[str, Any]:
        if not self._headers:
            raise PlatformError("Rocket.Chat: not logged in yet", outcome="retry")
        limited = "/".join(route.split("/")[:1])  # the server counts per route, ids left out
        wait_s = self._closed_until.get(limited, 0.0) - self._now()
        if wait_s > 0:
            raise _put_off(route, wait_s)
        self._closed_until.pop(limited, None)
        try:
            with call_errors("Rocket.Chat", f"Rocket.Chat: {route}"):
                async with asyncio.timeout(timeout_s or self._timeout_s):
                    return await self._call(method, route, args)
        except _Wait as wait:
            self._closed_until[limited] = self._now() + wait.seconds
            raise _put_off(route, wait.seconds) from None

    async def _call(self, method: str, route: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        url = f"{self.url}/api/v1/{route}"
        async with self.http().request(method, url, headers=self._headers, **args) as answer:
            text = await answer.text(errors="replace")
            self.server_date = answer.headers.get("Date")
            self.counted = self.counted or "X-RateLimit-Limit" in answer.headers
            data = _parsed(text)
            if answer.status == 200 and data is not None and data.get("success") is not False:
                return data
            raise _failure(route, answer.status, answer.headers, data, self._now())

    async def read(self, path: str, max_bytes: int, timeout_s: float) -> tuple[bytes, str]:
        """A file's bytes and MIME type, from the server itself. Raises PlatformError."""
        target = URL(self.url + path, encoded=True)
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self.http().get(target, headers=self._headers, allow_redirects=False) as answer,
            ):
                if answer.status in (301, 302, 303, 307, 308):
                    return await self._elsewhere(answer, max_bytes)
                return await read_file(answer, max_bytes)

    async def _elsewhere(self, answer: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes, str]:
        """The host of the server's files (S3 and the like); our token must not travel there."""
        target = URL(self.url).join(URL(answer.headers.get("Location", "")))
        own = target.origin() == URL(self.url).origin()
        headers = self._headers if own else {}
        async with self.http().get(target, headers=headers, allow_redirects=False) as moved:
            return await read_file(moved, max_bytes)


def _form(name: str, data: bytes, mime: str, fields: Mapping[str, str]) -> aiohttp.FormData:
    form = aiohttp.FormData()
    for field, value in fields.items():
        form.add_field(field, value)
    form.add_field("file", data, filename=name, content_type=mime)
    return form


class _Wait(Exception):
    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def _put_off(route: str, wait_s: float) -> PlatformError:
    return PlatformError(
        f"Rocket.Chat asked to wait with {route}", outcome="retry", retry_after_s=wait_s
    )


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _failure(
    route: str,
    status: int,
    headers: Mapping[str, str],
    data: Mapping[str, Any] | None,
    now: float,
) -> Exception:
    told = data or {}
    said = str(told.get("error") or told.get("message") or "")
    code = str(told.get("errorType") or said or f"HTTP {status}")
    if status == 429 or any(words in f"{code} {said}".lower() for words in _TOO_MANY):
        return _Wait(_wait_s(said, headers, now))
    if status >= 500 or (data is None and status < 400):
        what = f"HTTP {status}" if status != 200 else "a garbled answer"
        return PlatformError(f"Rocket.Chat: {route}: {what}", outcome="unknown")
    return RocketRefused(route, code[:200], status)


def _wait_s(said: str, headers: Mapping[str, str], now: float) -> float:
    """The time to wait: as the text says, else until the window's end (ms since 1970)."""
    if found := _WAIT.search(said):
        wait_s = float(found[1])
    else:
        after, reset = headers.get("Retry-After", ""), headers.get("X-RateLimit-Reset", "")
        if after.replace(".", "", 1).isdecimal():
            wait_s = float(after)
        else:
            wait_s = float(reset) / 1000 - now if reset.isdecimal() else 1.0
    return min(max(wait_s, 0.1), _LONGEST_WAIT_S)
