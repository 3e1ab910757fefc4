"""The Anthropic API as the model behind the memory. The SDK takes a second to import: not before
the first call, and never on the loop's own thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from contract.agent import Completion, Tool, ToolCall, Usage
from contract.errors import ModelError
from memory.strict import is_strict

if TYPE_CHECKING:
    from anthropic import AnthropicError, APIStatusError, AsyncAnthropic

API = "https://api.anthropic.com"
HAIKU = "claude-haiku-5-5"  # the cheapest current one; platform.claude.com, read 2026-11
RETRIES = 3  # the SDK waits 0.5 to 8 s between them, or as long as the API says
PASSING = (408, 409, 425, 429)  # and everything from 500; what the SDK itself repeats
USABLE = ("end_turn", "tool_use", "stop_sequence")


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a tool is asked for. forced: by `tool_choice`; strict: the API checks the schema."""

    forced: bool
    strict: bool


# Opus 5.5 and Sonnet 5.5 refuse a forced tool; some gateways don't know `strict`.
_SHAPES = tuple(_Shape(forced, strict) for strict in (True, False) for forced in (True, False))


class AnthropicModel:
    """A `Model`. Opened by `async with`; closes its client.

    base_url: without the /v1. timeout_s: for a whole call, the SDK's retries included.
    effort: of models that know it. prices: None when nobody told them.
    """

    def __init__(
        self,
        model: str = HAIKU,
        *,
        api_key: str,
        base_url: str = API,
        timeout_s: float = 120.0,
        max_retries: int = RETRIES,
        effort: str | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.name = model
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._effort = effort
        self._prices = prices
        self._client: AsyncAnthropic | None = None
        self._opening = asyncio.Lock()
        self._shapes: Sequence[_Shape] = _SHAPES  # those that may still be right

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """See `Model`. With a tool that the model can't be forced to call it is told to."""
        try:
            async with asyncio.timeout(self._timeout_s):
                client = await self._opened()
                return await self._ask(client, system, prompt, tool, max_tokens)
        except TimeoutError:
            say = f"no answer within {self._timeout_s:g} s"
            raise ModelError(f"{self.name}: {say}", passing=True) from None

    async def _opened(self) -> AsyncAnthropic:
        async with self._opening:
            if self._client is None:
                with ThreadPoolExecutor(1, "anthropic-import") as executor:
                    loop = asyncio.get_running_loop()
                    self._client = await loop.run_in_executor(executor, self._open)
            return self._client

    def _open(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            max_retries=self._max_retries,
            timeout=self._timeout_s,
        )

    async def _ask(
        self,
        client: AsyncAnthropic,
        system: str,
        prompt: str,
        tool: Tool | None,
        max_tokens: int,
    ) -> Completion:
        """The answer in the first shape that the API takes."""
        refused: ModelError | None = None
        for shape in _fitting(self._shapes, tool):
            request = _request(system, prompt, tool, shape, max_tokens)
            if self._effort is not None:
                request["output_config"] = {"effort": self._effort}
            try:
                completion = self._completion(await self._send(client, request))
            except _Refused as error:
                refused = refused or error
                continue
            if tool is not None:
                self._shapes = [one for one in self._shapes if _agrees(one, shape, tool)]
            return completion
        assert refused is not None
        raise refused

    async def _send(self, client: AsyncAnthropic, request: dict[str, Any]) -> object:
        import anthropic

        try:
            message = await client.messages.create(model=self.name, **request)
        except anthropic.AnthropicError as error:
            raise self._error(error) from error
        except ValueError as error:  # the SDK lets a body through that it can't read as JSON
            raise ModelError(f"{self.name}: the answer is not JSON", passing=False) from error
        return message.to_dict() if isinstance(message, anthropic.BaseModel) else message

    def _error(self, error: AnthropicError) -> ModelError:
        """The one border where the SDK's errors become ours."""
        import anthropic

        if isinstance(error, anthropic.APIResponseValidationError):
            return ModelError(f"{self.name}: the answer is not a message", passing=False)
        if isinstance(error, anthropic.APIStatusError):
            passing = error.status_code in PASSING or error.status_code >= 500
            kind = _Refused if error.status_code == 400 else ModelError
            return kind(f"{self.name}: {_reason(error)}", passing=passing)
        if isinstance(error, anthropic.APIConnectionError):
            return ModelError(f"{self.name}: {self._base_url} can't be reached", passing=True)
        return ModelError(f"{self.name}: {type(error).__name__}", passing=False)

    def _completion(self, message: object) -> Completion:
        try:
            answer = _Message.model_validate(message)
        except ValidationError:
            what = f"{self.name}: the answer is not a message of the API"
            raise ModelError(what, passing=False) from None
        usage = _usage(answer, self._prices, self.name)
        if answer.stop_reason not in USABLE:
            what = f"{self.name}: the answer was cut off ({answer.stop_reason})"
            raise ModelError(what, passing=False, usage=usage)
        text = "\n".join(block.text for block in answer.content if block.type == "text")
        calls = tuple(
            ToolCall(block.name, block.input)
            for block in answer.content
            if block.type == "tool_use"
        )
        return Completion(text, calls, usage)


class _Refused(ModelError):
    """HTTP 400: the request, in the shape that it has."""


# ── What goes out ───────────────────────────────────────────────────────────────────────


def _fitting(shapes: Sequence[_Shape], tool: Tool | None) -> Sequence[_Shape]:
    """Those that make a difference for this tool, in their order."""
    if tool is None:
        return (_Shape(forced=False, strict=False),)
    able = is_strict(tool.schema)
    return tuple(dict.fromkeys(_Shape(shape.forced, shape.strict and able) for shape in shapes))


def _agrees(one: _Shape, taken: _Shape, tool: Tool) -> bool:
    """Whether a shape is still to be thought of once another one was taken for a tool."""
    return one.forced == taken.forced and (one.strict == taken.strict or not is_strict(tool.schema))


def _request(
    system: str, prompt: str, tool: Tool | None, shape: _Shape, max_tokens: int
) -> dict[str, Any]:
    said = [{"type": "text", "text": prompt}]
    request: dict[str, Any] = {
        "max_tokens": max_tokens,
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": said}],
    }
    if tool is None:
        return request
    request["tools"] = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.schema),
            **({"strict": True} if shape.strict else {}),
        }
    ]
    choice: dict[str, Any] = {"type": "auto", "disable_parallel_tool_use": True}
    if shape.forced:
        choice |= {"type": "tool", "name": tool.name}
    else:
        said.append({"type": "text", "text": f"Call the tool {tool.name} once. Write no text."})
    request["tool_choice"] = choice
    return request


# ── What comes back ─────────────────────────────────────────────────────────────────────

_REASONS = {
    400: "the API refused the request",
    401: "the API refused the key; set another ANTHROPIC_API_KEY",
    402: "the API asks for a payment",
    403: "the key may not use this model",
    404: "the API knows no such model; set another [memory.anthropic] model",
    413: "the request is too large",
    429: "the rate limit is reached",
    529: "the API is overloaded",
}


def _reason(error: APIStatusError) -> str:
    """Without the API's own sentence, which may quote the request."""
    reason = _REASONS.get(error.status_code, "the API failed")
    return f"{reason} (HTTP {error.status_code})"


class _Door(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Block(_Door):
    """A text, a call (with `name` and `input`), or something else."""

    type: str
    text: str = ""
    name: str = ""
    input: Mapping[str, Any] = {}


class _Tokens(_Door):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(_Door):
    model: str = ""
    content: list[_Block]
    stop_reason: str
    usage: _Tokens


def _usage(answer: _Message, prices: Prices | None, asked: str) -> Usage:
    tokens = answer.usage
    read = tokens.cache_read_input_tokens or 0
    written = tokens.cache_creation_input_tokens or 0
    cost = None
    if prices is not None:
        cost = (
            tokens.input_tokens * prices.input
            + tokens.output_tokens * prices.output
            + read * prices.cache_read
            + written * prices.cache_write
        ) / 1_000_000
    return Usage(
        model=answer.model or asked,
        input_tokens=tokens.input_tokens + read + written,
        output_tokens=tokens.output_tokens,
        cached_tokens=read,
        cost_usd=cost,
    )
