"""Rocket.Chat's REST API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from yarl import URL

from bots.kit.rest import Answer, Refused, RestApi
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


class RocketRefused(Refused):
    """The server said no. code: e.g. "error-not-allowed"."""

    server, remedies = "Rocket.Chat", _REMEDY


class RocketApi(RestApi):
    """Calls with one account; they are put off per route. url: the server's."""

    server = "Rocket.Chat"
    counted = False  # an answer said how many calls are left
    renew: Callable[[str], Awaitable[bool]] | None = None  # a token that ran out

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
        """The server's answer. Raises PlatformError."""
        return await self._signed(lambda: self._paced("POST", route, json=body))

    async def login(self, username: str, password: str) -> tuple[str, str]:
        """User id and token. Raises PlatformError."""
        body = {"user": username, "password": password}
        told = (await self._paced("POST", "login", json=body)).get("data")
        if not isinstance(told, dict) or not told.get("userId") or not told.get("authToken"):
            raise PlatformError("Rocket.Chat: login: a garbled answer", outcome="retry")
        return str(told["userId"]), str(told["authToken"])

    async def send(
        self, route: str, name: str, data: bytes, fields: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """A file in a form. Raises PlatformError."""
        file, lane = ("file", name, data), route.split("/")[0]
        sent = partial(self._send, self._url(route), route, file, fields, lane)
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

    async def _paced(self, verb: str, route: str, **args: Any) -> Mapping[str, Any]:
        if not self._headers:
            raise PlatformError("Rocket.Chat: not logged in yet", outcome="retry")
        lane = route.split("/")[0]  # the server counts per route, ids left out
        told: Mapping[str, Any] = await self._call(verb, self._url(route), route, lane=lane, **args)
        return told

    def _url(self, route: str) -> URL:
        return URL(f"{self.url}/api/v1/{route}")

    def _failure(self, what: str, answer: Answer) -> PlatformError | None:
        told, status, sound = answer.told, answer.status, isinstance(answer.data, dict)
        self.counted = self.counted or "X-RateLimit-Limit" in answer.headers
        if status == 200 and sound and told.get("success") is not False:
            return None
        said = str(told.get("error") or told.get("message") or "")
        code = str(told.get("errorType") or said or f"HTTP {status}")
        if status == 429 or any(words in f"{code} {said}".lower() for words in _TOO_MANY):
            return self._put_off(what, _wait_s(said, answer.headers, self._now()))
        if status >= 500 or (not sound and status < 400):
            return self._unsure(what, status)
        return RocketRefused(what, code[:200], status)

    async def read(self, path: str, max_bytes: int, timeout_s: float) -> tuple[bytes, str]:
        """A file's bytes and MIME type, from the server itself. Raises PlatformError."""
        return await self._read(URL(self.url + path, encoded=True), max_bytes, timeout_s)


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
