"""The Anthropic API as the model behind the memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from contract.agent import Completion, Tool, ToolCall, Usage
from contract.errors import ModelError
from contract.values import dataclass
from llm.answer import ModelAnswer
from llm.client import API, AnthropicClient
from llm.errors import ApiError, ApiFault
from memory.strict import is_strict

HAIKU = "claude-haiku-5-5"  # the cheapest current one; platform.claude.com, read 2026-11
RETRIES = 3  # 0.5 to 8 s lie between them, or as long as the API says
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
    """The form in which a tool is asked for. forced: by `tool_choice`; strict: it is checked."""

    forced: bool
    strict: bool


# Opus 5.5 and Sonnet 5.5 refuse a forced tool; some gateways don't know `strict`.
_SHAPES = tuple(_Shape(forced, strict) for strict in (True, False) for forced in (True, False))


class AnthropicModel:
    """A `Model`. Opened by `async with`; closes its client.

    base_url: without the /v1. timeout_s: for a whole call, its retries included.
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
        self._client = AnthropicClient(
            api_key=api_key, base_url=base_url, timeout_s=timeout_s, max_retries=max_retries
        )
        self._timeout_s = timeout_s
        self._effort = effort
        self._prices = prices
        self._shapes: Sequence[_Shape] = _SHAPES  # those that may still be right

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.close()

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        """See `Model`. With a tool that the model can't be forced to call it is told to."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._ask(system, prompt, tool, max_tokens)
        except ApiError as error:
            raise ModelError(f"{self.name}: {_reason(error)}", passing=error.passing) from error
        except TimeoutError:
            say = f"no answer within {self._timeout_s:g} s"
            raise ModelError(f"{self.name}: {say}", passing=True) from None

    async def _ask(
        self, system: str, prompt: str, tool: Tool | None, max_tokens: int
    ) -> Completion:
        """The answer in the first shape that the API takes."""
        refused: ApiError | None = None
        for shape in _fitting(self._shapes, tool):
            request = _request(system, prompt, tool, shape, max_tokens) | {"model": self.name}
            if self._effort is not None:
                request["output_config"] = {"effort": self._effort}
            try:
                answer = await self._client.create(request)
            except ApiError as error:
                if error.fault != "refused":
                    raise
                refused = refused or error
                continue
            completion = self._completion(answer)
            if tool is not None:
                self._shapes = [one for one in self._shapes if _agrees(one, shape, tool)]
            return completion
        assert refused is not None
        raise refused

    def _completion(self, answer: ModelAnswer) -> Completion:
        usage = _priced(answer, self._prices)
        if answer.stop_reason not in USABLE:
            what = f"{self.name}: the answer was cut off ({answer.stop_reason})"
            raise ModelError(what, passing=False, usage=usage)
        blocks = answer.content
        text = "\n".join(block.get("text", "") for block in blocks if block["type"] == "text")
        calls = tuple(
            ToolCall(block.get("name", ""), block.get("input", {}))
            for block in blocks
            if block["type"] == "tool_use"
        )
        return Completion(text, calls, usage)


# ── What goes out ───────────────────────────────────────────────────────────────────────


def _fitting(shapes: Sequence[_Shape], tool: Tool | None) -> Sequence[_Shape]:
    """The shapes that make a difference for this tool, in their order."""
    if tool is None:
        return (_Shape(forced=False, strict=False),)
    able = is_strict(tool.schema)
    return tuple(dict.fromkeys(_Shape(shape.forced, shape.strict and able) for shape in shapes))


def _agrees(one: _Shape, taken: _Shape, tool: Tool) -> bool:
    """True while a shape is still to be thought of once another one was taken for a tool."""
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

_REASONS: Mapping[ApiFault, str] = {
    "refused": "the API refused the request",
    "key": "the API refused the key; set another ANTHROPIC_API_KEY",
    "payment": "the API asks for a payment",
    "forbidden": "the key may not use this model",
    "unknown_model": "the API knows no such model; set another [memory.anthropic] model",
    "too_long": "the request is too large",
    "limit": "the rate limit is reached",
    "overloaded": "the API is overloaded",
    "failed": "the API failed",
}


def _reason(error: ApiError) -> str:
    """Without the API's own sentence, which may quote the request."""
    if error.status is None:
        return str(error)
    return f"{_REASONS[error.fault]} (HTTP {error.status})"


def _priced(answer: ModelAnswer, prices: Prices | None) -> Usage:
    usage = answer.usage
    if prices is None:
        return usage
    new = usage.input_tokens - usage.cached_tokens - answer.written_tokens
    cost = (
        new * prices.input
        + usage.output_tokens * prices.output
        + usage.cached_tokens * prices.cache_read
        + answer.written_tokens * prices.cache_write
    )
    return replace(usage, cost_usd=cost / 1_000_000)
