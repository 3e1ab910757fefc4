"""The Messages API through its SDK: one request, one answer, whole or streamed.

The SDK takes a second to import: not before the first call, and never on the loop's own thread. It
repeats by itself what the API did not take. This is the one place where its errors become ours.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from contract.agent import Usage
from llm.errors import PASSING_TYPES, ApiError, fault_of

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic, DefaultAsyncHttpxClient

API = "https://api.anthropic.com"
KEPT_S = 60.0  # an unused connection; the next question of a room comes within it
MALFORMED = (ValueError, TypeError, AttributeError, LookupError, RuntimeError)  # the SDK's, of it

Json = Mapping[str, Any]

REHEARSED: tuple[Json, ...] = (
    {
        "type": "message_start",
        "message": {
            "id": "none",
            "type": "message",
            "role": "assistant",
            "model": "none",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    },
    {"type": "message_stop"},
)
"""An answer as it is streamed; docs.claude.com, "Streaming messages", read 2026-11."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One message of the model. content: blocks, as they go back to the API.

    usage: `input_tokens` counts what came from the cache and what was written to it.
    written_tokens: those of the input that were written to the cache, which cost more.
    """

    content: tuple[Json, ...]
    stop_reason: str
    usage: Usage
    written_tokens: int


class ApiConnections:
    """Connections to APIs, kept open for all clients that share them. Whoever makes it closes it.

    The first one to be opened loads the SDK.
    """

    def __init__(self) -> None:
        self._http: DefaultAsyncHttpxClient | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> DefaultAsyncHttpxClient:
        """The one HTTP client. Nothing is connected yet."""
        async with self._opening:
            if self._http is None:
                with ThreadPoolExecutor(1, "anthropic-import") as executor:
                    loop = asyncio.get_running_loop()
                    self._http = await loop.run_in_executor(executor, _load)
            return self._http

    async def load(self) -> None:
        """Be ready before the first client opens them."""
        await self.open()

    async def aclose(self) -> None:
        """Close them."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()


def _load() -> DefaultAsyncHttpxClient:
    import anyio  # which the SDK's connections wait with
    from anthropic import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpxClient
    from httpx2 import Limits

    anyio.run(_rehearse)
    usual = DEFAULT_CONNECTION_LIMITS
    limits = Limits(
        max_connections=usual.max_connections,
        max_keepalive_connections=usual.max_keepalive_connections,
        keepalive_expiry=KEPT_S,
    )
    return DefaultAsyncHttpxClient(limits=limits)


async def _rehearse() -> None:
    """Read an answer that nobody sent: only then the SDK builds what it reads answers with, and
    loads what it waits for them with. The loop would stand still for 0.2 s."""
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
    from httpx2 import MockTransport, Response

    kind = {"content-type": "text/event-stream"}
    sent = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in REHEARSED)
    transport = MockTransport(lambda request: Response(200, headers=kind, text=sent))
    http = DefaultAsyncHttpxClient(transport=transport)
    async with AsyncAnthropic(api_key="none", base_url=API, http_client=http) as sdk:
        asked: Any = {"model": "none", "max_tokens": 1, "messages": []}
        async with sdk.messages.stream(**asked) as stream:
            (await stream.get_final_message()).to_dict(exclude_none=True)


class AnthropicClient:
    """Calls the API with one key. Whoever makes it closes it.

    base_url: without the /v1. timeout_s: how long the API may be silent. max_retries: of a request
    that the API did not take; the SDK waits 0.5 to 8 s between them, or as long as the API says.
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
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._connections = connections or ApiConnections()
        self._shares = connections is not None
        self._sdk: AsyncAnthropic | None = None

    async def open(self) -> AsyncAnthropic:
        """Load the SDK, once. Nothing is connected yet."""
        if self._sdk is None:
            http = await self._connections.open()
            from anthropic import AsyncAnthropic

            self._sdk = AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                timeout=self._timeout_s,
                max_retries=self._max_retries,
                http_client=http,
            )
        return self._sdk

    async def close(self) -> None:
        """Close its own connections."""
        self._sdk = None
        if not self._shares:
            await self._connections.aclose()

    async def create(self, request: Json) -> ModelAnswer:
        """The answer to a request, whole. Raises ApiError."""
        sdk = await self.open()
        with self._border():
            message: Any = await sdk.messages.create(**request)
            body = message.to_dict() if hasattr(message, "to_dict") else message
            return _answer(body, request["model"])

    async def stream(
        self, request: Json, *, on_text: Callable[[str], None], on_block: Callable[[str], None]
    ) -> ModelAnswer:
        """The answer; its text goes to `on_text` while it comes. Raises ApiError.

        on_block gets the type of each block that begins.
        """
        sdk = await self.open()
        with self._border() as call:
            async with sdk.messages.stream(**request) as stream:
                async for event in stream:
                    call.began = True
                    if event.type == "text":
                        on_text(event.text)
                    elif event.type == "content_block_start":
                        on_block(event.content_block.type)
                    await asyncio.sleep(0)  # thousands may lie in one buffer, each takes 0.1 ms
                if not call.began:
                    raise self._malformed()
                whole = stream.current_message_snapshot
            if whole.stop_reason is None:
                raise ApiError("unreachable", f"{self._base_url}: ended too early", broken=True)
            return _answer(whole.to_dict(exclude_none=True), request["model"])

    @contextmanager
    def _border(self) -> Iterator[_Call]:
        """Within it, the SDK's errors become ours."""
        import anthropic
        import httpx2

        call = _Call()
        try:
            yield call
        except anthropic.APIStatusError as error:
            raise _refusal(error, began=call.began) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            late = isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException)
            reason = "silent for too long" if late else "can't be reached"
            raise ApiError(
                "timeout" if late else "unreachable",
                f"{self._base_url}: {reason}",
                broken=call.began,
            ) from error
        except (anthropic.AnthropicError, *MALFORMED) as error:
            raise self._malformed() from error

    def _malformed(self) -> ApiError:
        return ApiError("malformed", f"{self._base_url}: not an Anthropic API")


@dataclass(slots=True)
class _Call:
    """The progress of a call. began: something of the answer is there."""

    began: bool = False


def _refusal(error: APIStatusError, *, began: bool) -> ApiError:
    words = error.api_message or ""
    wait = error.response.headers.get("retry-after", "")
    kind = error.type or ""
    return ApiError(
        fault_of(error.status_code, kind, words.lower()),
        f"HTTP {error.status_code} {kind}".strip(),
        status=error.status_code,
        words=words,
        retry_after_s=int(wait) if wait.isdecimal() else 0,
        broken=began and kind in PASSING_TYPES,
    )


# ── What comes back ─────────────────────────────────────────────────────────────────────


class _Tokens(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Block(BaseModel):
    """A text, a call of a tool (with `name` and `input`), or something else."""

    model_config = ConfigDict(extra="allow", strict=True)

    type: str
    text: str = ""
    name: str = ""
    input: Mapping[str, Any] = {}


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    model: str = ""
    content: list[_Block]
    stop_reason: str
    usage: _Tokens


def _answer(message: object, asked: str) -> ModelAnswer:
    """A message of the API, checked. asked: the model's name in the request. Raises ValueError."""
    answer = _Answer.model_validate(message)
    tokens = answer.usage
    read = tokens.cache_read_input_tokens or 0
    written = tokens.cache_creation_input_tokens or 0
    usage = Usage(
        model=answer.model or asked,
        input_tokens=tokens.input_tokens + read + written,
        output_tokens=tokens.output_tokens,
        cached_tokens=read,
    )
    content = tuple(block.model_dump(exclude_unset=True) for block in answer.content)
    return ModelAnswer(content, answer.stop_reason, usage, written)
