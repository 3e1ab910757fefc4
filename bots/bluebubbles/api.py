"""BlueBubbles' REST API: one way to call it, and one place where its failures become ours.

The password travels in the query, and aiohttp's errors tell addresses: none of their texts goes on,
neither in a message nor as a cause.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import quote

import aiohttp
from yarl import URL

from bots.kit.http_pool import HttpPool, read, reason_of
from bots.kit.retry import retry_after_s
from contract.errors import PlatformError

# The server answers a send when iMessage confirms it, up to two minutes later. We look for the
# message ourselves before that.
_SEND_S, _READ_S = 30.0, 20.0
_MOST_ANSWER_BYTES = 64_000_000  # a page of messages with everything that they can hold


class BlueBubblesRefused(PlatformError):
    """The server said no. `status`: the HTTP status."""

    def __init__(self, what: str, status: int, why: str) -> None:
        super().__init__(f"BlueBubbles refused {what}: {why}", outcome="refused")
        self.status = status


class WrongPassword(BlueBubblesRefused):
    """401: the password isn't the server's."""


class BlueBubblesApi:
    """Calls with one password, over one pool of connections that opens at the first call.

    url: the server's, without `/api/v1`.
    """

    def __init__(
        self, url: str, password: str, *, send_s: float = _SEND_S, read_s: float = _READ_S
    ) -> None:
        self.base = URL(url.rstrip("/") + "/api/v1/")
        self._password, self._send_s, self._read_s = password, send_s, read_s
        self._pool = HttpPool()
        self.close = self._pool.close

    async def get(self, path: str, **query: str) -> Any:
        """The `data` of an answer. Raises PlatformError, never "unknown"."""
        return await self._call("GET", path, query=query, reads=True)

    async def query(self, path: str, body: Mapping[str, object]) -> Any:
        """POST that changes nothing there. Raises PlatformError, never "unknown"."""
        return await self._call("POST", path, body=json.dumps(body).encode(), reads=True)

    async def send(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """POST that changes something there. Raises PlatformError."""
        return await self._call("POST", path, body=json.dumps(body or {}).encode())

    async def send_form(self, path: str, form: aiohttp.FormData, size_bytes: int) -> Any:
        """POST of a file. Raises PlatformError."""
        return await self._call("POST", path, form=form, more_s=60.0 + size_bytes / 100_000)

    async def delete(self, path: str) -> Any:
        """DELETE. Raises PlatformError."""
        return await self._call("DELETE", path)

    async def read(self, path: str, max_bytes: int, timeout_s: float) -> tuple[bytes, str]:
        """The bytes behind a path and their MIME type. Raises PlatformError, never "unknown"."""
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._pool.session().get(self._url(path, {}), allow_redirects=False) as answer,
            ):
                if answer.status != 200:
                    outcome = "retry" if answer.status >= 500 or answer.status == 404 else "refused"
                    raise PlatformError(f"a file: HTTP {answer.status}", outcome=outcome)  # type: ignore[arg-type]
                return await read(answer.content, max_bytes), answer.content_type
        except (aiohttp.ClientError, OSError) as error:
            raise PlatformError(
                f"a file can't be read: {type(error).__name__}", outcome="retry"
            ) from None

    async def _call(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        form: aiohttp.FormData | None = None,
        reads: bool = False,
        more_s: float = 0.0,
    ) -> Any:
        what = _plain(path)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            async with (
                asyncio.timeout((self._read_s if reads else self._send_s) + more_s),
                self._pool.session().request(
                    verb,
                    self._url(path, query or {}),
                    data=form if form is not None else body,
                    headers=headers,
                    allow_redirects=False,
                ) as answer,
            ):
                data = await read(answer.content, _MOST_ANSWER_BYTES)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise PlatformError("BlueBubbles can't be reached", outcome="retry") from None
        except (aiohttp.ClientError, OSError) as error:
            outcome = "retry" if reads else "unknown"
            why = f"BlueBubbles: {what}: {reason_of(error)}"
            raise PlatformError(why, outcome=outcome) from None  # type: ignore[arg-type]
        return _answered(what, answer.status, answer.headers, data, reads=reads)

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        """path: its parts already escaped."""
        url = URL(f"{self.base}{path}", encoded=True)
        return url.with_query({**query, "password": self._password})


def part(text: str) -> str:
    """A guid as one part of a path."""
    return quote(text, safe="")


def _plain(path: str) -> str:
    """The path without the guids in it, for a log."""
    kept = [piece for piece in path.split("/") if piece.isascii() and piece.isalpha()]
    return "/".join(kept)


def _answered(
    what: str, status: int, headers: Mapping[str, str], data: bytes, *, reads: bool
) -> Any:
    """The answer's data. Raises PlatformError."""
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    if not 200 <= status < 300:
        _raise_for(what, status, headers, answer if isinstance(answer, dict) else {}, reads=reads)
    if not isinstance(answer, dict):
        outcome = "retry" if reads else "unknown"
        raise PlatformError(f"BlueBubbles: {what}: a garbled answer", outcome=outcome)  # type: ignore[arg-type]
    return answer.get("data")


def _raise_for(
    what: str, status: int, headers: Mapping[str, str], answer: Mapping[str, Any], *, reads: bool
) -> NoReturn:
    error = answer.get("error")
    told = str(error.get("message") or "") if isinstance(error, dict) else str(error or "")
    if status == 429:
        wait_s = retry_after_s(headers)
        raise PlatformError(
            f"BlueBubbles asked to wait with {what}", outcome="retry", retry_after_s=wait_s
        )
    if status == 401:
        raise WrongPassword(what, status, "the password is not the server's")
    if status >= 500 or "already queued" in told:
        # The first try is under way (its name is taken as long as it is), or its end isn't known.
        if code := _not_delivered(answer.get("data")):
            why = f"iMessage could not deliver it (error {code})"
            raise BlueBubblesRefused(what, status, why)
        outcome = "retry" if reads else "unknown"
        raise PlatformError(f"BlueBubbles: {what}: HTTP {status}", outcome=outcome)  # type: ignore[arg-type]
    raise BlueBubblesRefused(what, status, _short(told) or f"HTTP {status}")


def _not_delivered(data: object) -> int:
    """iMessage's own error on a message that is there and went nowhere; 0 when it has none."""
    code = data.get("error") if isinstance(data, dict) else None
    return code if isinstance(code, int) else 0


def _short(told: str) -> str:
    return " ".join(told.split())[:200]
