"""Mattermost's REST API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from bots.kit.files import mime_of
from bots.kit.http_pool import HttpPool, call_errors, file_errors, read_file
from bots.kit.retry import retry_after_s
from contract.errors import PlatformError

_ID_CHARS = 26
_REMEDY = {
    "api.context.permissions.app_error": "the account lacks a permission, or isn't in the channel",
    "api.post.create_post.can_not_post_to_deleted.error": "the channel is archived",
    "api.post.create_post.root_id.app_error": "the thread is gone",
    "api.post.update_post.permissions_time_limit.app_error": "it is too old to be edited",
    "api.file.upload_file.too_large.app_error": "the file is too large",
    "model.post.is_valid.message_length.app_error": "the text is too long for one message",
}


class MattermostRefused(PlatformError):
    """The server said no. code: its own word for why; status: HTTP."""

    def __init__(self, what: str, code: str, status: int) -> None:
        why = _REMEDY.get(code, "")
        super().__init__(
            f"Mattermost refused {what}: {code}" + (f" ({why})" if why else ""), outcome="refused"
        )
        self.code, self.status = code, status


class MattermostApi:
    """Calls with one account's token, over one pool of connections.

    url: the server's. now: the time in seconds since 1970.
    """

    def __init__(
        self, url: str, token: str, *, now: Callable[[], float], timeout_s: float = 20.0
    ) -> None:
        self.url, self.token = url.rstrip("/"), token
        self._now, self._timeout_s = now, timeout_s
        self._pool = HttpPool()
        self.http = self._pool.session
        self.close = self._pool.close
        self._closed_until = 0.0
        self.server_date = ""  # of the last answer, as its header says

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def get(self, *path: str, **query: str | int) -> Any:
        """The server's answer. Raises PlatformError."""
        return await self._call("GET", path, params=query)

    async def post(self, *path: str, body: object) -> Any:
        """The server's answer. Raises PlatformError."""
        return await self._call("POST", path, json=body)

    async def put(self, *path: str, body: object) -> Any:
        """The server's answer. Raises PlatformError."""
        return await self._call("PUT", path, json=body)

    async def delete(self, *path: str) -> None:
        """Raises PlatformError."""
        await self._call("DELETE", path)

    async def send(self, channel: str, name: str, data: bytes) -> Any:
        """Keep a file with the server, for a post to come. Raises PlatformError, never "unknown":
        nobody sees it yet."""
        form = aiohttp.FormData()
        form.add_field("channel_id", channel)
        form.add_field("files", data, filename=name, content_type=mime_of(name))
        timeout_s = self._timeout_s + len(data) / 100_000
        try:
            return await self._call("POST", ("files",), timeout_s=timeout_s, data=form)
        except PlatformError as error:
            if error.outcome == "unknown":
                raise PlatformError(str(error), outcome="retry") from error
            raise

    async def read(self, file_id: str, max_bytes: int, timeout_s: float) -> bytes:
        """A file's bytes. Raises PlatformError."""
        url = self._url(("files", file_id))
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self.http().get(url, headers=self._headers, allow_redirects=False) as answer,
            ):
                return (await read_file(answer, max_bytes))[0]

    async def respond(self, hook: str, text: str) -> None:
        """Answer a slash command, for who gave it alone. Raises PlatformError."""
        url = URL(f"{self.url}/hooks/commands/{quote(hook, safe='')}", encoded=True)
        body = {"response_type": "ephemeral", "text": text}
        await self._request("POST", url, "a command's answer", self._timeout_s, {"json": body})

    def _url(self, path: tuple[str, ...]) -> URL:
        parts = "/".join(quote(part, safe="") for part in path)
        return URL(f"{self.url}/api/v4/{parts}", encoded=True)

    async def _call(
        self, verb: str, path: tuple[str, ...], *, timeout_s: float | None = None, **args: Any
    ) -> Any:
        wait_s = self._closed_until - self._now()
        what = f"{verb} {'/'.join(part for part in path if len(part) != _ID_CHARS)}"
        if wait_s > 0:
            raise _put_off(what, wait_s)
        args["headers"] = self._headers
        text = await self._request(verb, self._url(path), what, timeout_s or self._timeout_s, args)
        try:
            return json.loads(text)
        except ValueError:
            raise PlatformError(
                f"Mattermost: {what}: a garbled answer", outcome="unknown"
            ) from None

    async def _request(
        self, verb: str, url: URL, what: str, timeout_s: float, args: Mapping[str, Any]
    ) -> str:
        with call_errors("Mattermost", f"Mattermost: {what}"):
            async with (
                asyncio.timeout(timeout_s),
                self.http().request(verb, url, allow_redirects=False, **args) as answer,
            ):
                self.server_date = answer.headers.get("Date", "")
                if answer.status == 429:
                    wait_s = retry_after_s(answer.headers, "X-RateLimit-Reset")
                    self._closed_until = self._now() + wait_s
                    raise _put_off(what, wait_s)
                text = await answer.text(errors="replace")
                if not 200 <= answer.status < 300:
                    raise _failure(what, answer.status, text)
                return text


def _put_off(what: str, wait_s: float) -> PlatformError:
    why = f"Mattermost asked to wait with {what}"
    return PlatformError(why, outcome="retry", retry_after_s=wait_s)


def _failure(what: str, status: int, text: str) -> PlatformError:
    if status >= 500:
        return PlatformError(f"Mattermost: {what}: HTTP {status}", outcome="unknown")
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    code = told.get("id") if isinstance(told, dict) else None
    return MattermostRefused(what, str(code or f"HTTP {status}")[:200], status)
