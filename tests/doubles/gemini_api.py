"""A loopback double of the Gemini API (generativelanguage v1beta), as Google's own SDK speaks it.

Requests whose body has no tools are beside the conversation (summaries, classifiers).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator

from aiohttp import web

from tests.doubles import scripted_api
from tests.doubles.model_steps import (
    Block,
    Fault,
    Json,
    Message,
    Step,
    Text,
    Thinking,
    Tokens,
    ToolUse,
)
from tests.doubles.scripted_api import Event, ScriptedAPI

_METHOD = re.compile(r"/v1(?:beta)?/models/([^/:]+):(\w+)")
_STATUSES = {  # ai.google.dev/gemini-api/docs/troubleshooting
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class Request(scripted_api.Request):
    """A request as it arrived."""

    @property
    def asks(self) -> bool:
        return "enerateContent" in self.path and bool(self.body.get("tools"))

    @property
    def history(self) -> list[str]:
        asked = (content for content in self._contents if content.get("role") != "model")
        return [text for content in asked for text in _texts(content)]

    @property
    def rounds(self) -> int:
        count = 0
        for content in reversed(self._contents):
            is_model = content.get("role") == "model"
            if not is_model and _texts(content):
                break
            count += is_model
        return count

    @property
    def system(self) -> str:
        return "\n".join(_texts(self.body.get("systemInstruction") or {}))

    @property
    def model(self) -> str:
        """The model that is asked."""
        found = _METHOD.fullmatch(self.path)
        return found[1] if found else ""

    @property
    def _contents(self) -> list[Json]:
        contents: list[Json] = self.body.get("contents", [])
        return contents


def _texts(content: Json) -> list[str]:
    """Of a content's parts, but what Gemini CLI says of itself. Prompts without an answer between
    them are parts of one content."""
    texts = [part.get("text", "") for part in content.get("parts", []) if not part.get("thought")]
    return [text for text in texts if text and not text.startswith("<session_context>")]


class GeminiAPI(ScriptedAPI[Request]):
    """The double. Its base URL for clients is `url`."""

    reads = Request

    async def _dispatch(self, request: web.Request, seen: Request) -> web.StreamResponse | None:
        found = _METHOD.fullmatch(request.path)
        match request.method, found[2] if found else "":
            case "POST", "countTokens":
                return web.json_response({"totalTokens": 1000})
            case "POST", "streamGenerateContent":
                return await self._answer(request, seen, streams=request.query.get("alt") == "sse")
            case "POST", "generateContent":
                return await self._answer(request, seen, streams=False)
        return None

    def _refuse(self, fault: Fault) -> web.Response:
        return web.json_response(_error(fault), status=fault.status, headers=fault.headers)

    def _events(self, chosen: Step, seen: Request) -> Iterable[Event]:
        if isinstance(chosen, Fault):
            yield _event(_error(chosen))
            return
        envelope = _envelope(seen)
        for block in chosen.blocks:
            for part in _parts(block, chosen.delta):
                yield _event({**envelope, **_candidate([part])}, delta=True)
        yield _event(
            {**envelope, **_candidate([{"text": ""}], _finish(chosen)), **_usage(self.tokens)}
        )

    def _whole(self, chosen: Message, seen: Request) -> web.Response:
        parts = [part for block in chosen.blocks for part in _parts(block, len(str(block)) + 1)]
        return web.json_response(
            {**_envelope(seen), **_candidate(parts, _finish(chosen)), **_usage(self.tokens)}
        )


def _usage(tokens: Tokens) -> Json:
    told = {
        "promptTokenCount": tokens.read,
        "candidatesTokenCount": tokens.written,
        "totalTokenCount": tokens.read + tokens.written,
    }
    if tokens.cached:
        told["cachedContentTokenCount"] = tokens.cached
    return {"usageMetadata": told}


def _envelope(seen: Request) -> Json:
    return {"responseId": uuid.uuid4().hex, "modelVersion": seen.model}


def _candidate(parts: list[Json], finish: str = "") -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate]}


def _finish(chosen: Message) -> str:
    """A call of a tool ends with STOP too."""
    return "MAX_TOKENS" if chosen.stop_reason == "max_tokens" else "STOP"


def _parts(block: Block, size: int) -> Iterator[Json]:
    match block:
        case Text(text):
            for at in range(0, len(text), size):
                yield {"text": text[at : at + size]}
        case Thinking(text):
            for at in range(0, len(text), size):
                yield {"text": text[at : at + size], "thought": True}
        case ToolUse(name, arguments):
            yield {"functionCall": {"name": name, "args": dict(arguments)}}


def _event(value: Json, *, delta: bool = False) -> Event:
    return Event(f"data: {json.dumps(value, ensure_ascii=False)}\r\n\r\n".encode(), delta)


def _error(fault: Fault) -> Json:
    message = fault.message
    if "too long" in message:  # its own words
        message = "The input token count (1500000) exceeds the maximum number of tokens allowed"
        message += " (1048576)."
    status = _STATUSES.get(fault.status, "UNKNOWN")
    error: Json = {"code": fault.status, "message": message, "status": status}
    return {"error": error}
