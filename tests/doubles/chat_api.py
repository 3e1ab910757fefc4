"""A loopback double of the OpenAI Chat Completions API, as the field's other servers speak it.

Requests without tools are beside the conversation (titles, summaries), unless `toolless` is set,
for clients that never send any.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

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

_CODES = {429: "rate_limit_exceeded", 401: "invalid_api_key", 500: "server_error"}


class Request(scripted_api.Request):
    """A request as it arrived."""

    @property
    def asks(self) -> bool:
        return self.path.endswith("/chat/completions") and bool(self.body.get("tools"))

    @property
    def history(self) -> list[str]:
        return [_text(m) for m in self._messages if m["role"] == "user" and _text(m)]

    @property
    def rounds(self) -> int:
        count = 0
        for message in reversed(self._messages):
            if message["role"] == "user":
                break
            count += message["role"] == "assistant"
        return count

    @property
    def system(self) -> str:
        return "\n".join(_text(m) for m in self._messages if m["role"] in ("system", "developer"))

    @property
    def _messages(self) -> list[Json]:
        messages: list[Json] = self.body.get("messages", [])
        return messages


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


class AnyRequest(Request):
    """A request of a client that has no tools."""

    @property
    def asks(self) -> bool:
        return self.path.endswith("/chat/completions")


class PartedRequest(Request):
    """A request of a client that joins prompts without an answer between them in one message."""

    @property
    def history(self) -> list[str]:
        contents = [m.get("content") or "" for m in self._messages if m["role"] == "user"]
        parts = [[c] if isinstance(c, str) else [p.get("text", "") for p in c] for c in contents]
        return [text for texts in parts for text in texts if text]


class ChatAPI(ScriptedAPI[Request]):
    """The double. Its base URL for clients is `url` + "/v1". models: what it lists.

    refusal_headers: go with each refusal.
    """

    reads = Request
    refusal_headers: ClassVar[Mapping[str, str]] = {}
    models = ("double",)

    async def _dispatch(self, request: web.Request, seen: Request) -> web.StreamResponse | None:
        match request.method, request.path.removeprefix("/v1"):
            case "GET" | "HEAD", "/models":
                listed = [{"id": name, "object": "model", "created": 1} for name in self.models]
                return web.json_response({"object": "list", "data": listed})
            case "POST", "/chat/completions":
                return await self._answer(request, seen, streams=bool(seen.body.get("stream")))
        return None

    def _refuse(self, fault: Fault) -> web.Response:
        headers = {"x-request-id": uuid.uuid4().hex, **fault.headers, **self.refusal_headers}
        return web.json_response(_error(fault), status=fault.status, headers=headers)

    def _events(self, chosen: Step, seen: Request) -> Iterable[Event]:
        if isinstance(chosen, Fault):
            yield _event(_error(chosen))
            return
        envelope = _envelope(seen, "chat.completion.chunk")

        def chunk(delta: Json, finish: str | None = None) -> Json:
            return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        yield _event(chunk({"role": "assistant", "content": ""}))
        for index, block in enumerate(chosen.blocks):
            for delta in _deltas(index, block, chosen.delta):
                yield _event(chunk(delta), delta=True)
        yield _event(chunk({}, _finish(chosen)))
        if seen.body.get("stream_options", {}).get("include_usage"):
            yield _event({**envelope, "choices": [], "usage": _usage(self.tokens)})
        yield Event(b"data: [DONE]\n\n")

    def _whole(self, chosen: Message, seen: Request) -> web.Response:
        text = "".join(block.text for block in chosen.blocks if isinstance(block, Text))
        calls = [
            _call(index, block)
            for index, block in enumerate(chosen.blocks)
            if isinstance(block, ToolUse)
        ]
        message: Json = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _finish(chosen)}
        return web.json_response(
            {
                **_envelope(seen, "chat.completion"),
                "choices": [choice],
                "usage": _usage(self.tokens),
            }
        )


class ToollessChatAPI(ChatAPI):
    """The double for clients that send no tools: every request is a turn."""

    reads = AnyRequest


class PartedChatAPI(ChatAPI):
    """The double for clients that join several prompts."""

    reads = PartedRequest


def _usage(tokens: Tokens) -> Json:
    return {
        "prompt_tokens": tokens.read,
        "completion_tokens": tokens.written,
        "total_tokens": tokens.read + tokens.written,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    }


def _envelope(seen: Request, kind: str) -> Json:
    model = seen.body.get("model", "double")
    ident = f"chatcmpl-{uuid.uuid4().hex[:24]}"
    return {"id": ident, "object": kind, "created": int(time.time()), "model": model}


def _finish(chosen: Message) -> str:
    reason = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}
    return reason.get(chosen.stop_reason, chosen.stop_reason)


def _call(index: int, use: ToolUse) -> Json:
    function = {"name": use.name, "arguments": json.dumps(dict(use.input), ensure_ascii=False)}
    return {"index": index, "id": _call_id(), "type": "function", "function": function}


def _call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


def _deltas(index: int, block: Block, size: int) -> Iterator[Json]:
    match block:
        case Text(text):
            for at in range(0, len(text), size):
                yield {"content": text[at : at + size]}
        case Thinking(text):
            for at in range(0, len(text), size):
                yield {"reasoning_content": text[at : at + size]}
        case ToolUse():
            call = _call(index, block)
            arguments = call["function"]["arguments"]
            begun = {**call, "function": {**call["function"], "arguments": ""}}
            yield {"tool_calls": [begun]}
            for at in range(0, len(arguments), size):
                part = {"index": index, "function": {"arguments": arguments[at : at + size]}}
                yield {"tool_calls": [part]}


def _event(value: Json, *, delta: bool = False) -> Event:
    return Event(f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode(), delta)


def _error(fault: Fault) -> Json:
    code = "context_length_exceeded" if "too long" in fault.message else _CODES.get(fault.status)
    kind = "invalid_request_error" if fault.status < 429 else fault.kind
    return {"error": {"message": fault.message, "type": kind, "param": None, "code": code}}
