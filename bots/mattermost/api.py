"""Mattermost's REST API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from yarl import URL

from bots.kit.rest import Answer, Refused, RestApi, unseen
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


class MattermostRefused(Refused):
    server, remedies = "Mattermost", _REMEDY


class MattermostApi(RestApi):
    """Calls with one account's token. url: the server's."""

    server = "Mattermost"

    def __init__(self, url: str, token: str, *, now: Callable[[], float]) -> None:
        super().__init__(url, now=now)
        self.token = token
        self._headers = {"Authorization": f"Bearer {token}"}

    async def get(self, *path: str, **query: str | int) -> Any:
        """The server's answer. Raises PlatformError."""
        return await self._asked("GET", path, params=query)

    async def post(self, *path: str, body: object) -> Any:
        """The server's answer. Raises PlatformError."""
        return await self._asked("POST", path, json=body)

    async def put(self, *path: str, body: object) -> Any:
        """The server's answer. Raises PlatformError."""
        return await self._asked("PUT", path, json=body)

    async def delete(self, *path: str) -> None:
        """Raises PlatformError."""
        await self._asked("DELETE", path)

    async def send(self, channel: str, name: str, data: bytes) -> Any:
        """Keep a file with the server, for a post to come. Raises PlatformError, never "unknown":
        nobody sees it yet."""
        file, fields = ("files", name, data), {"channel_id": channel}
        with unseen():
            return await self._send(self._url("files"), "POST files", file, fields)

    async def read(self, file_id: str, max_bytes: int, timeout_s: float) -> bytes:
        """A file's bytes. Raises PlatformError."""
        return (await self._read(self._url("files", file_id), max_bytes, timeout_s))[0]

    async def respond(self, hook: str, text: str) -> None:
        """Answer a slash command, for who gave it alone. Raises PlatformError."""
        url = URL(f"{self.url}/hooks/commands/{quote(hook, safe='')}", encoded=True)
        body, what = {"response_type": "ephemeral", "text": text}, "a command's answer"
        answer = await self._exchange("POST", url, what, json=body)
        if answer.status != 200 and (failure := self._failure(what, answer)):
            raise failure

    async def _asked(self, verb: str, path: tuple[str, ...], **args: Any) -> Any:
        what = f"{verb} {'/'.join(part for part in path if len(part) != _ID_CHARS)}"
        return await self._call(verb, self._url(*path), what, allow_redirects=False, **args)

    def _url(self, *path: str) -> URL:
        parts = "/".join(quote(part, safe="") for part in path)
        return URL(f"{self.url}/api/v4/{parts}", encoded=True)

    def _failure(self, what: str, answer: Answer) -> PlatformError | None:
        if answer.status == 429:
            return self._put_off(what, retry_after_s(answer.headers, "X-RateLimit-Reset"))
        if 200 <= answer.status < 300 and answer.data is not None:
            return None
        if 200 <= answer.status < 300 or answer.status >= 500:
            return self._unsure(what, answer.status)
        code = str(answer.told.get("id") or f"HTTP {answer.status}")
        return MattermostRefused(what, code[:200], answer.status)
