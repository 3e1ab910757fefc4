"""A platform's REST API: one way to call it, and one place where its failures become ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import aiohttp
from yarl import URL

from bots.kit.files import mime_of
from bots.kit.http_pool import HttpPool, call_errors, file_errors, read_file
from contract.errors import PlatformError
from contract.values import dataclass

_MOVED = (301, 302, 303, 307, 308)


class Refused(PlatformError):
    """A server said no. code: its own word for why; status: HTTP's.

    remedies: what such a word means, or what helps.
    """

    server: ClassVar[str]
    remedies: ClassVar[Mapping[str, str]] = {}

    def __init__(self, what: str, code: str, status: int) -> None:
        why = self.remedies.get(code, "")
        super().__init__(
            f"{self.server} refused {what}: {code}" + (f" ({why})" if why else ""),
            outcome="refused",
        )
        self.code, self.status = code, status


@dataclass(frozen=True, slots=True)
class Answer:
    """data: the body, read as JSON; None where it is none."""

    status: int
    headers: Mapping[str, str]
    data: Any

    @property
    def told(self) -> Mapping[str, Any]:
        """The object that it is; else an empty one."""
        return self.data if isinstance(self.data, dict) else {}


class RestApi:
    """The base of calls with one account, over one pool of connections that opens at the first.

    server: its name at the beginning of a sentence. url: its address. now: the time in seconds
    since 1970. A call that the server put off isn't made again before its time.
    """

    server: ClassVar[str]

    def __init__(self, url: str, *, now: Callable[[], float], timeout_s: float = 20.0) -> None:
        self.url = url.rstrip("/")
        self._now, self._timeout_s = now, timeout_s
        self._pool = HttpPool()
        self.http = self._pool.session
        self.close = self._pool.close
        self._headers: dict[str, str] = {}
        self._closed_until: dict[str, float] = {}  # by lane
        self.server_date = ""  # of the last answer, as its header says

    async def _call(
        self,
        verb: str,
        url: URL,
        what: str,
        *,
        lane: str = "",
        timeout_s: float | None = None,
        **args: Any,
    ) -> Any:
        """The answer's JSON. Raises PlatformError.

        what: the call, for the log. lane: of the calls that the server puts off together.
        """
        wait_s = self._closed_until.get(lane, 0.0) - self._now()
        if wait_s > 0:
            raise self._put_off(what, wait_s)
        self._closed_until.pop(lane, None)
        answer = await self._exchange(
            verb, url, what, timeout_s=timeout_s, headers=self._headers, **args
        )
        if (failure := self._failure(what, answer)) is not None:
            if failure.outcome == "retry":
                self._closed_until[lane] = self._now() + failure.retry_after_s
            raise failure
        return answer.data

    async def _exchange(
        self, verb: str, url: URL, what: str, *, timeout_s: float | None = None, **args: Any
    ) -> Answer:
        """The answer, whatever it says. Raises PlatformError when there is none."""
        with call_errors(self.server, f"{self.server}: {what}"):
            async with (
                asyncio.timeout(timeout_s or self._timeout_s),
                self.http().request(verb, url, **args) as answer,
            ):
                self.server_date = answer.headers.get("Date", "")
                text = await answer.text(errors="replace")
        return Answer(answer.status, answer.headers, _parsed(text))

    def _failure(self, what: str, answer: Answer) -> PlatformError | None:
        """The error that an answer is; None: it is none."""
        raise NotImplementedError

    def _put_off(self, what: str, wait_s: float) -> PlatformError:
        why = f"{self.server} asked to wait with {what}"
        return PlatformError(why, outcome="retry", retry_after_s=wait_s)

    def _unsure(self, what: str, status: int) -> PlatformError:
        """The error of an answer that doesn't tell whether it was done."""
        why = f"HTTP {status}" if status >= 300 else "a garbled answer"
        return PlatformError(f"{self.server}: {what}: {why}", outcome="unknown")

    # ── Files ───────────────────────────────────────────────────────────────────────────

    async def _send(
        self,
        url: URL,
        what: str,
        file: tuple[str, str, bytes],
        fields: Mapping[str, str],
        lane: str = "",
    ) -> Any:
        """The answer to a form with a file (field, name, bytes) in it. Raises PlatformError."""
        form, (field, name, data) = aiohttp.FormData(), file
        for key, value in fields.items():
            form.add_field(key, value)
        form.add_field(field, data, filename=name, content_type=mime_of(name))
        timeout_s = self._timeout_s + len(data) / 100_000
        return await self._call("POST", url, what, lane=lane, timeout_s=timeout_s, data=form)

    async def _read(self, url: URL, max_bytes: int, timeout_s: float) -> tuple[bytes, str]:
        """A file's bytes and MIME type. Raises PlatformError."""
        with file_errors():
            async with (
                asyncio.timeout(timeout_s),
                self.http().get(url, headers=self._headers, allow_redirects=False) as answer,
            ):
                if answer.status in _MOVED:
                    return await self._elsewhere(answer, max_bytes)
                return await read_file(answer, max_bytes)

    async def _elsewhere(self, answer: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes, str]:
        """The host of the server's files (S3 and the like); our token must not travel there."""
        target = URL(self.url).join(URL(answer.headers.get("Location", "")))
        own = target.origin() == URL(self.url).origin()
        headers = self._headers if own else {}
        async with self.http().get(target, headers=headers, allow_redirects=False) as moved:
            return await read_file(moved, max_bytes)


@contextmanager
def unseen() -> Iterator[None]:
    """A call that nobody sees anything of: where its outcome is unknown it can be made again."""
    try:
        yield
    except PlatformError as error:
        if error.outcome == "unknown":
            raise PlatformError(str(error), outcome="retry") from error
        raise


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
