"""Matrix's client-server API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

from yarl import URL

from bots.kit.http_pool import HttpPool, call_errors, file_errors, read
from bots.kit.retry import retry_after_s
from contract.errors import PlatformError

CLIENT = "/_matrix/client/v3"
RELATIONS = "/_matrix/client/v1"
_MEDIA = ("/_matrix/client/v1/media/download", "/_matrix/media/v3/download")  # since 1.11, before

DEAD_TOKEN = {"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"}
_REMEDY = {
    "M_FORBIDDEN": "the bot may not do that in this room",
    "M_TOO_LARGE": "the text is too long for one event",
}

BURST, EVERY_S = 10, 5.0  # Synapse's default: ten at once, then one in five seconds
_PROVEN = 3  # so many beyond the default, and the account has more
_SPARE = 2  # for what isn't foreseen: a second post, a question
_OWED_S = 60.0  # what isn't answered by then may never be


class MatrixRefused(PlatformError):
    """The homeserver said no. `code` is its own word for why, e.g. "M_FORBIDDEN"; `answer` all of
    what it said."""

    def __init__(
        self, what: str, code: str, status: int, answer: Mapping[str, Any] | None = None
    ) -> None:
        why = f" ({_REMEDY[code]})" if code in _REMEDY else ""
        super().__init__(f"the homeserver refused {what}: {code}{why}", outcome="refused")
        self.code, self.status, self.answer = code, status, answer or {}


class RateLimited(PlatformError):
    """Too many calls: nothing was done."""

    def __init__(self, what: str, retry_after_s: float) -> None:
        super().__init__(
            f"the homeserver asked to wait with {what}",
            outcome="retry",
            retry_after_s=retry_after_s,
        )


class TokenRefused(PlatformError):
    """The access token is no good (any more). The bot logs in again, then the call can be made."""

    def __init__(self, code: str) -> None:
        super().__init__(
            f"the homeserver refuses the access token: {code}", outcome="retry", retry_after_s=5.0
        )
        self.code = code


def path(*parts: str) -> str:
    """Parts of a path, each one quoted: ids hold `#`, `/` and the like."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


T = TypeVar("T")

Renew = Callable[[str], Awaitable[bool]]
"""Told of a token that is refused: true when `token` is another one now."""


class MatrixApi:
    """Calls to one homeserver, over one pool of connections that opens at the first call.

    token: the access token; "" until there is one. renew: gets a new one when it has expired; None:
    it doesn't, or nothing can be done.
    """

    def __init__(self, url: str, token: str = "", *, timeout_s: float = 20.0) -> None:
        self.url, self.token, self._timeout_s = url.rstrip("/"), token, timeout_s
        self.renew: Renew | None = None
        self._pool = HttpPool()
        self.close = self._pool.close

    # ── Calls ───────────────────────────────────────────────────────────────────────────

    async def get(
        self, where: str, *, timeout_s: float | None = None, **params: str | int
    ) -> Mapping[str, Any]:
        return await self.call("GET", where, params=params, timeout_s=timeout_s)

    async def post(self, where: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self.call("POST", where, body=body)

    async def put(self, where: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self.call("PUT", where, body=body)

    async def call(
        self,
        method: str,
        where: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str | int] | None = None,
        timeout_s: float | None = None,
    ) -> Mapping[str, Any]:
        """The homeserver's answer; a list comes under `events`. where: the path, quoted.

        Raises PlatformError.
        """
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        url = URL(self.url + where, encoded=True).update_query(params or {})
        what, limit_s = f"{method} {_name(where)}", timeout_s or self._timeout_s
        return await self._renewing(lambda: self._call(what, method, url, data, limit_s))

    async def refreshed(self, refresh_token: str) -> Mapping[str, Any]:
        """New tokens for a refresh token. Raises TokenRefused when that is no good any more."""
        url = URL(self.url + CLIENT + "/refresh")
        data = json.dumps({"refresh_token": refresh_token}).encode()
        return await self._call("POST refresh", "POST", url, data, self._timeout_s)

    async def _renewing(self, make: Callable[[], Awaitable[T]]) -> T:
        """A call; once more with a new token where the one in use has expired."""
        used = self.token
        try:
            return await make()
        except TokenRefused:
            if self.renew is None or not await self.renew(used):
                raise
        return await make()

    async def _call(
        self, what: str, method: str, url: URL, data: bytes | None, timeout_s: float
    ) -> Mapping[str, Any]:
        with call_errors("the homeserver", what):
            async with (
                asyncio.timeout(timeout_s),
                self._pool.session().request(
                    method, url, data=data, headers=self._headers("application/json")
                ) as answer,
            ):
                raw = await answer.read()
                return _read(what, answer.status, answer.headers, raw)

    # ── Files ───────────────────────────────────────────────────────────────────────────

    async def upload(self, name: str, mime: str, data: bytes) -> str:
        """Keep bytes on the homeserver; return their mxc address. Nothing is seen of them yet:
        safe to repeat."""
        url = URL(self.url + "/_matrix/media/v3/upload").update_query({"filename": name})
        return await self._renewing(lambda: self._upload(url, mime, data))

    async def _upload(self, url: URL, mime: str, data: bytes) -> str:
        with file_errors("an upload"):
            async with (
                asyncio.timeout(self._timeout_s + len(data) / 100_000),
                self._pool.session().post(url, data=data, headers=self._headers(mime)) as answer,
            ):
                raw = await answer.read()
                found = _read("POST upload", answer.status, answer.headers, raw)
        return str(found.get("content_uri") or "")

    async def download(self, mxc: str, max_bytes: int, timeout_s: float) -> bytes:
        """The bytes behind an mxc address. The authenticated way first; older servers have none."""
        server, _, media = mxc.removeprefix("mxc://").partition("/")
        if not mxc.startswith("mxc://") or not server or not media:
            raise PlatformError("not a file of Matrix's", outcome="refused")
        for base in _MEDIA:
            try:
                where = base + path(server, media)
                return await self._renewing(partial(self._bytes, where, max_bytes, timeout_s))
            except MatrixRefused as error:
                if error.status != 404 or base == _MEDIA[-1]:
                    raise
        raise AssertionError  # the loop returns or raises

    async def _bytes(self, where: str, max_bytes: int, timeout_s: float) -> bytes:
        url = URL(self.url + where, encoded=True)
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self._pool.session().get(url, headers=self._headers()) as answer,
            ):
                if answer.status != 200:
                    raw = await answer.read()
                    _raise_for("GET download", answer.status, answer.headers, _json(raw) or {})
                return await read(answer.content, max_bytes)

    # ── Pages ───────────────────────────────────────────────────────────────────────────

    async def back(
        self, room_id: str, *, start: str | None, stop: str | None = None, pages: int, page: int
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """A room's events from a token on, newest first, as they lie there (perhaps encrypted).

        start: None: the room's newest. stop: the token at which it ends.
        """
        token = start
        for _ in range(pages):
            params: dict[str, str | int] = {"dir": "b", "limit": page}
            params |= {"from": token} if token else {}
            params |= {"to": stop} if stop else {}
            answer = await self.call(
                "GET", CLIENT + path("rooms", room_id, "messages"), params=params
            )
            for event in answer.get("chunk") or ():
                if isinstance(event, Mapping):
                    yield event
            following = answer.get("end")
            if not following or following == token:
                return
            token = str(following)

    def _headers(self, mime: str | None = None) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return headers | ({"Content-Type": mime} if mime else {})


def _name(where: str) -> str:
    """The method in a path, without ids: `/_matrix/client/v3/rooms/X/send/Y/Z` is `send`."""
    words = [part for part in where.split("/") if part.isascii() and part.isalpha()]
    return words[-1] if words else where


def _read(what: str, status: int, headers: Mapping[str, str], raw: bytes) -> Mapping[str, Any]:
    found = _json(raw)
    if status != 200:
        _raise_for(what, status, headers, found or {})
    if found is None:
        raise PlatformError(f"{what}: a garbled answer", outcome="unknown")
    return found


def _json(raw: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    if isinstance(found, list):
        return {"events": found}
    return found if isinstance(found, dict) else None


def _raise_for(
    what: str, status: int, headers: Mapping[str, str], found: Mapping[str, Any]
) -> NoReturn:
    code = str(found.get("errcode") or f"HTTP {status}")
    if status == 429 or code == "M_LIMIT_EXCEEDED":
        raise RateLimited(what, _wait_s(found.get("retry_after_ms"), headers))
    if status >= 500:
        raise PlatformError(f"the homeserver fails at {what}: {code}", outcome="unknown")
    if status == 401 and code in DEAD_TOKEN:
        raise TokenRefused(code)
    raise MatrixRefused(what, code, status, found)


def _wait_s(milliseconds: object, headers: Mapping[str, str]) -> float:
    if isinstance(milliseconds, (int, float)) and milliseconds >= 0:
        return milliseconds / 1000
    return retry_after_s(headers)


class SendBudget:
    """now: the time in seconds since 1970."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._at = now, now()
        self._used = 0.0
        self._has_more = False
        self._owed: deque[float] = deque()  # when messages came that an answer is due to

    def asked(self) -> None:
        """Note that somebody wants an answer."""
        self._owed.append(self._now())

    def answered(self) -> None:
        """An answer went out."""
        if self._owed:
            self._owed.popleft()

    def sent(self) -> None:
        """An event went out."""
        self._pass_time()
        self._used += 1
        if self._used >= BURST + _PROVEN:
            self._has_more, self._used = True, 0.0

    def refused(self) -> None:
        """The server asked to wait."""
        self._pass_time()
        self._has_more, self._used = False, float(BURST)

    def has_room(self, events: int) -> bool:
        """True if so many events that nobody waits for leave enough for the answers."""
        self._pass_time()
        return self._has_more or self._used + len(self._owed) + events + _SPARE <= BURST

    def _pass_time(self) -> None:
        now = self._now()
        self._used = max(0.0, self._used - max(0.0, now - self._at) / EVERY_S)
        self._at = now
        while self._owed and self._owed[0] < now - _OWED_S:
            self._owed.popleft()
