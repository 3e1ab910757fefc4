"""The Messages API over HTTP: one request, one answer, whole or streamed.

Anthropic's SDK does the same, and is a witness in the tests. Its import takes a second and 40 MB,
and each of its requests 5 ms of the processor; one of these takes half a millisecond.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic_core import PydanticSerializationError, to_json
from yarl import URL

from llm.answer import EventReader, ModelAnswer, StreamedMessage, answer_of
from llm.errors import PASSING, PASSING_TYPES, ApiError, fault_of

API = "https://api.anthropic.com"
VERSION = "2026-10-21"  # of what goes out and comes back; as Anthropic's SDK 2.12 sends it
KEPT_S = 60.0  # an unused connection; the next question of a room comes within it
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0  # before a request that the API did not take goes again
CHUNK_BYTES = 16_384  # some hundred events, which take a millisecond

Json = Mapping[str, Any]


class ApiConnections:
    """Connections to APIs, kept for all clients that share them. Whoever makes it closes it."""

    def __init__(self) -> None:
        self._http: aiohttp.ClientSession | None = None

    def http(self) -> aiohttp.ClientSession:
        """The one pool, which opens at the first call. Nothing is connected yet."""
        if self._http is None:
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._http

    async def aclose(self) -> None:
        """Close them."""
        http, self._http = self._http, None
        if http is not None:
            await http.close()


class AnthropicClient:
    """Calls the API with one key. Whoever makes it closes it.

    base_url: without the /v1. timeout_s: how long the API may be silent. max_retries: of a request
    that the API did not take; 0.5 to 8 s lie between them, or as long as the API says.
    connections: that it shares, which stay open after it; None: it has its own.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = API,
        timeout_s: float,
        max_retries: int,
        connections: ApiConnections | None = None,
    ) -> None:
        self._base_url = base_url
        self._max_retries = max_retries
        self._connections = connections or ApiConnections()
        self._shares = connections is not None
        headers = {
            "Authorization": f"Bearer {api_key}",
            "anthropic-version": VERSION,
            "Content-Type": "application/json",
        }
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=timeout_s, sock_read=timeout_s)
        self._how: dict[str, Any] = {"headers": headers, "timeout": timeout, **_proxy_of(base_url)}

    async def close(self) -> None:
        """Close its own connections."""
        if not self._shares:
            await self._connections.aclose()

    async def create(self, request: Json) -> ModelAnswer:
        """The answer to a request, whole. Raises ApiError."""
        with self._border():
            async with await self._sent(request) as response:
                body = json.loads(await response.read())
            return answer_of(body, request["model"])

    async def stream(
        self, request: Json, *, on_text: Callable[[str], None], on_block: Callable[[str], None]
    ) -> ModelAnswer:
        """The answer; its text goes to `on_text` while it comes. Raises ApiError.

        on_block gets the type of each block that begins.
        """
        said = StreamedMessage(on_text, on_block)
        with self._border(said):
            async with await self._sent({**request, "stream": True}) as response:
                reader = EventReader()
                async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                    for event in reader.feed(chunk):
                        if event["type"] == "error":
                            raise _refusal(response, event, began=said.began)
                        said.take(event)
                    await asyncio.sleep(0)  # much may lie in the buffer
            if not said.began:
                raise self._malformed()
            if not said.ended:
                raise ApiError("unreachable", f"{self._base_url}: ended too early", broken=True)
            return answer_of(said.whole(), request["model"])

    async def _sent(self, request: Json) -> aiohttp.ClientResponse:
        """The response to a request that the API took; its body is still to be read."""
        data = _body(request)
        http, url = self._connections.http(), f"{self._base_url.rstrip('/')}/v1/messages"
        for attempt in range(self._max_retries + 1):
            last, wait_s = attempt == self._max_retries, 0.0
            try:
                response = await http.post(url, data=data, **self._how)
            except (aiohttp.ClientError, OSError):  # being late is an OSError
                if last:
                    raise
            else:
                if response.status < 400:
                    return response
                async with response:
                    refusal = _refusal(response, await _error_in(response), began=False)
                if last or not _may_pass(response):
                    raise refusal
                wait_s = _asked_to_wait_s(response.headers)
            await asyncio.sleep(wait_s or _pause_s(attempt))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _border(self, said: StreamedMessage | None = None) -> Iterator[None]:
        """Within it, failures of the connection, and of what came, become ApiErrors."""
        try:
            yield
        except (aiohttp.ClientError, OSError) as error:
            late = isinstance(error, TimeoutError)
            reason = "silent for too long" if late else "can't be reached"
            raise ApiError(
                "timeout" if late else "unreachable",
                f"{self._base_url}: {reason}",
                broken=said is not None and said.began,
            ) from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            raise self._malformed() from error

    def _malformed(self) -> ApiError:
        return ApiError("malformed", f"{self._base_url}: not an Anthropic API")


class KeptJson(dict[str, Any]):
    """A message that goes out again and again as it is: its JSON is made once."""

    data = b""


def _body(request: Json) -> bytes:
    rest = {name: value for name, value in request.items() if name != "messages"}
    said = b",".join(map(_json_of, request["messages"]))
    return b'%b,"messages":[%b]}' % (_json(rest)[:-1], said)


def _json_of(message: Json) -> bytes:
    if not isinstance(message, KeptJson):
        return _json(message)
    message.data = message.data or _json(message)
    return message.data


def _json(value: Json) -> bytes:
    try:
        return to_json(value)
    except PydanticSerializationError:  # half of a surrogate pair, which goes as a question mark
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace")


def _proxy_of(base_url: str) -> Mapping[str, Any]:
    """The proxy that the environment names for an address, as arguments of a request."""
    parts = urlsplit(base_url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return {}
    known = getproxies()
    proxy = known.get(parts.scheme) or known.get("all")
    if not proxy:
        return {}
    url = URL(proxy if "://" in proxy else f"http://{proxy}")
    return {"proxy": url.with_user(None), "proxy_auth": aiohttp.BasicAuth.from_url(url)}


# ── What the API refuses ────────────────────────────────────────────────────────────────


async def _error_in(response: aiohttp.ClientResponse) -> object:
    try:
        return json.loads(await response.read())
    except (aiohttp.ClientError, OSError, ValueError):  # a proxy's page: the status says enough
        return None


def _refusal(response: aiohttp.ClientResponse, body: object, *, began: bool) -> ApiError:
    """began: something of an answer is there already."""
    told = body.get("error") if isinstance(body, dict) else None
    error = told if isinstance(told, dict) else {}
    words, kind = str(error.get("message") or ""), str(error.get("type") or "")
    wait = response.headers.get("retry-after", "")
    return ApiError(
        fault_of(response.status, kind, words.lower()),
        f"HTTP {response.status} {kind}".strip(),
        status=response.status,
        words=words,
        retry_after_s=int(wait) if wait.isdecimal() else 0,
        broken=began and kind in PASSING_TYPES,
    )


def _may_pass(response: aiohttp.ClientResponse) -> bool:
    """True if the same request may be taken later: the API says so, or its status does."""
    told = response.headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    return response.status in PASSING or response.status >= 500


def _asked_to_wait_s(headers: Mapping[str, str]) -> float:
    """0: it does not say. A date is not read: the API gives seconds."""
    try:
        return max(float(headers.get("retry-after", "")), 0.0)
    except ValueError:
        return 0.0


def _pause_s(attempt: int) -> float:
    longest_s = min(FIRST_WAIT_S * 2.0**attempt, LONGEST_WAIT_S)
    return longest_s * random.uniform(0.75, 1.0)  # noqa: S311 - no secret depends on it
