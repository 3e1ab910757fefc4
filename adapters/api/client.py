"""The Messages API through its SDK: one request, one streamed message, errors that are ours.

The SDK takes a second to import: not before the first session starts, and never on the loop's own
thread. It repeats by itself what the API did not take; what broke off in mid-answer is repeated
here, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from adapters.api.speech import Speech
from contract.agent import Usage
from contract.errors import AgentError, AgentFault

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic
    from anthropic.types import Message as SdkMessage

TOO_LONG = "prompt is too long"  # there is no code for it
REASON_CHARS = 200
NO_CREDIT = "credit balance"
MALFORMED = (ValueError, TypeError, AttributeError, LookupError, RuntimeError)  # the SDK's, of it
PASSING = ("api_error", "overloaded_error", "rate_limit_error", "timeout_error")


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """What the model answered. content: blocks, as they go back to the API. tokens: read and
    written, what came from a cache included."""

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    tokens: int
    usage: Usage


class RequestRefused(AgentError):
    """HTTP 400: the request, in the form that it has."""


class ContextExceeded(AgentError):
    """The conversation does not fit into the model's context."""


class _Broken(AgentError):
    """The stream broke off: what came is not the whole answer."""


class ApiClient:
    """Calls the API with one key. Opened by `open`; whoever opens it closes it."""

    def __init__(self, client: AsyncAnthropic, base_url: str) -> None:
        self._client = client
        self._base_url = base_url

    @classmethod
    async def open(cls, *, api_key: str, base_url: str, timeout_s: float, max_retries: int) -> Self:
        """A client that has connected to nothing yet."""

        def make() -> AsyncAnthropic:
            from anthropic import AsyncAnthropic

            return AsyncAnthropic(
                api_key=api_key, base_url=base_url, timeout=timeout_s, max_retries=max_retries
            )

        with ThreadPoolExecutor(1, "anthropic-import") as executor:
            client = await asyncio.get_running_loop().run_in_executor(executor, make)
        return cls(client, base_url)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def stream(self, request: Mapping[str, Any], speech: Speech) -> ModelMessage:
        """The answer; its text goes to `speech` while it comes. Raises AgentError."""
        speech.begin()
        try:
            return await self._stream(request, speech)
        except _Broken:
            speech.again()
            return await self._stream(request, speech)

    async def _stream(self, request: Mapping[str, Any], speech: Speech) -> ModelMessage:
        import anthropic
        import httpx2

        began = False
        try:
            async with self._client.messages.stream(**request) as stream:
                async for event in stream:
                    began = True
                    if event.type == "text":
                        speech.add(event.text)
                    elif event.type == "content_block_start":
                        speech.begin_block(event.content_block.type)
                    await asyncio.sleep(0)  # thousands may lie in one buffer, each takes 0.1 ms
                whole = stream.current_message_snapshot if began else None
        except anthropic.APIStatusError as error:
            raise self._refusal(error, request["model"], began=began) from error
        except anthropic.APITimeoutError as error:
            raise self._silent("timeout", "silent for too long", began=began) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            late = isinstance(error, httpx2.TimeoutException)
            reason = "silent for too long" if late else "can't be reached"
            raise self._silent("timeout" if late else "api", reason, began=began) from error
        except (anthropic.AnthropicError, *MALFORMED) as error:
            raise self._stranger() from error
        if whole is None:
            raise self._stranger()
        if whole.stop_reason is None:
            raise self._silent("api", "ended too early", began=True)
        return _message(whole)

    def _stranger(self) -> AgentError:
        say = "What answers is not the Anthropic API. An administrator checks ANTHROPIC_BASE_URL."
        return AgentError("api", f"{self._base_url}: not an Anthropic API", say=say)

    def _silent(self, kind: AgentFault, reason: str, *, began: bool) -> AgentError:
        """The API can't be had, or not to the end."""
        what = f"{self._base_url}: {reason}"
        if began:
            say = "The connection to the Anthropic API broke in mid-answer, twice. Ask again."
            return _Broken(kind, what, say=say)
        if kind == "timeout":
            return AgentError(kind, what, say="The Anthropic API did not answer. Ask again.")
        say = "The Anthropic API can't be reached. Check the network and ANTHROPIC_BASE_URL."
        return AgentError(kind, what, say=say)

    def _refusal(self, error: APIStatusError, model: str, *, began: bool) -> AgentError:
        """What an error of the API means. Its own sentence may quote the conversation: it is told
        in the room, and not in the log."""
        status, words = error.status_code, (error.api_message or "").lower()
        what = f"HTTP {status} {error.type or ''}".strip()
        if status == 413 or (status == 400 and TOO_LONG in words):
            return ContextExceeded("context", what, say=CONTEXT)
        if began and error.type in PASSING:
            say = "The Anthropic API failed in mid-answer, twice. Ask again in a few minutes."
            return _Broken("limit" if error.type == "rate_limit_error" else "api", what, say=say)
        if status == 402 or NO_CREDIT in words:
            say = "The Anthropic API asks for a payment: its account has no credit left."
            return AgentError("limit", what, say=say)
        if status == 400:
            reason = " ".join((error.api_message or what).split())[:REASON_CHARS]
            say = f"The Anthropic API refused the request: {reason}. If it goes on so, say `!new`."
            return RequestRefused("api", what, say=say)
        wait = error.response.headers.get("retry-after", "")
        if status == 429 and wait.isdecimal() and int(wait):
            return AgentError("limit", what, say=f"{_LIMIT} Ask again in {int(wait)} s.")
        kind, say = _STATUS.get(status, ("api", f"{_FAILED} ({what}). Ask again in a few minutes."))
        return AgentError(kind, what, say=say.format(model=model))


CONTEXT = "That is too long for the model, even without what was said before. Send less at a time."
_FAILED = "The Anthropic API failed"
_LIMIT = "The Anthropic API's rate limit is reached."
_STATUS: Mapping[int, tuple[AgentFault, str]] = {
    401: ("login", "The Anthropic API refused the key. An administrator sets ANTHROPIC_API_KEY."),
    403: ("login", "The Anthropic API's key may not use {model}. An administrator can change it."),
    404: ("api", "The Anthropic API knows no model {model}. The persona's `model` names one."),
    429: ("limit", f"{_LIMIT} Ask again in a minute."),
    529: ("api", "The Anthropic API is overloaded. Ask again in a few minutes."),
}


def _message(whole: SdkMessage) -> ModelMessage:
    usage = whole.usage
    read = usage.input_tokens + (usage.cache_read_input_tokens or 0)
    written = usage.output_tokens + (usage.cache_creation_input_tokens or 0)
    cached = usage.cache_read_input_tokens or 0
    new = usage.cache_creation_input_tokens or 0
    took = Usage(str(whole.model), usage.input_tokens + new + cached, usage.output_tokens, cached)
    content = tuple(block.to_dict(exclude_none=True) for block in whole.content)
    return ModelMessage(content, str(whole.stop_reason), read + written, took)
