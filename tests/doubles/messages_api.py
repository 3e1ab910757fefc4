"""A loopback double of the Anthropic Messages API that plays scripts and records what arrives.

    async with MessagesAPI.open() as api:
        api.when("weather", ToolUse("Bash", {"command": "date"}), "It is **late**.")
        api.queue(Fault.overloaded(), "Better now.")

A script belongs to a prompt. Its first step answers the prompt, the second the request that
brings the first one's tool results, and so on: the choice looks at the request alone, so that a
client that repeats a request gets the same step again. Queued steps go before all scripts and
are used up, one a request. Requests without tools (Claude Code asks for the session's title
that way) get `api.title` and use nothing up.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A text block."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A thinking block, which never belongs to a reply."""

    thinking: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call."""

    name: str
    input: Mapping[str, Any]


Block = Text | Thinking | ToolUse


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the model.

    delta: code points a text delta; they tear graphemes. wire: bytes a network write; they tear
    UTF-8 sequences and events (0: an event a write). pause_s: between deltas. hold: after so
    many deltas the stream waits for `api.release`. cut: after so many the connection breaks.
    stop: the stop reason, "" for the natural one.
    """

    blocks: tuple[Block, ...]
    delta: int = 23
    wire: int = 0
    pause_s: float = 0.0
    hold: int | None = None
    cut: int | None = None
    stop: str = ""

    @property
    def stop_reason(self) -> str:
        """The script's own, else what the blocks imply."""
        tools = any(isinstance(block, ToolUse) for block in self.blocks)
        return self.stop or ("tool_use" if tools else "end_turn")


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal. in_stream: as an event of a stream that began well (HTTP 200)."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    in_stream: bool = False

    @classmethod
    def too_long(cls) -> Fault:
        """The context is full."""
        text = "prompt is too long: 250000 tokens > 200000 maximum"
        return cls(400, "invalid_request_error", text)

    @classmethod
    def invalid(cls) -> Fault:
        """A request that the API does not understand."""
        return cls(400, "invalid_request_error", "messages: at least one message is required")

    @classmethod
    def unauthorized(cls) -> Fault:
        """A wrong key."""
        return cls(401, "authentication_error", "invalid x-api-key")

    @classmethod
    def limited(cls) -> Fault:
        """A rate limit."""
        text = "This request would exceed your account's rate limit. Please try again later."
        return cls(429, "rate_limit_error", text, {"retry-after": "0"})

    @classmethod
    def broken(cls) -> Fault:
        """An error of the server."""
        return cls(500, "api_error", "Internal server error")

    @classmethod
    def overloaded(cls) -> Fault:
        """Too busy."""
        return cls(529, "overloaded_error", "Overloaded")

    def body(self) -> Json:
        """The error as the API words it."""
        return {"type": "error", "error": {"type": self.kind, "message": self.message}}


Step = Message | Fault
Sketch = Step | Block | str


def step(sketch: Sketch) -> Step:
    """A whole step from its short form: a text, a block."""
    if isinstance(sketch, str):
        sketch = Text(sketch)
    return sketch if isinstance(sketch, Message | Fault) else Message((sketch,))


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived. at: seconds of the monotonic clock."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    at: float

    @property
    def asks(self) -> bool:
        """Whether it is a turn of the conversation, not a side request."""
        return self.path == "/v1/messages" and bool(self.body.get("tools"))

    @property
    def prompt(self) -> str:
        """What the person typed last, without the reminders that the client adds."""
        texts = list(self._prompts())
        return texts[-1][1] if texts else ""

    @property
    def rounds(self) -> int:
        """How many messages of the model came since that prompt."""
        texts = list(self._prompts())
        messages = self.body.get("messages", [])
        since = messages[texts[-1][0] :] if texts else []
        return sum(message["role"] == "assistant" for message in since)

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(block["text"] for block in _blocks(self.body.get("system", "")))

    def _prompts(self) -> Iterator[tuple[int, str]]:
        for index, message in enumerate(self.body.get("messages", [])):
            if message["role"] != "user":
                continue
            blocks = [b for b in _blocks(message["content"]) if b["type"] == "text"]
            texts = [b["text"] for b in blocks if not b["text"].startswith("<system-reminder>")]
            if texts:
                yield index, texts[-1]


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class MessagesAPI:
    """The double. requests: all that arrived, in order. unknown: paths that it does not serve."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.unknown: list[str] = []
        self.title = "A fake title"
        self.default: Sketch = "ok"
        self.finished_at: list[float] = []  # monotonic, when each answer's last event was written
        self.release = asyncio.Event()
        self.holding = asyncio.Event()
        self.broken_off = 0
        self.url = ""
        self._queue: list[Step] = []
        self._scripts: list[tuple[str, list[Step]]] = []

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[MessagesAPI]:
        """Serve on a random loopback port; `url` is its base URL."""
        api = cls()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", api._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            api.url = f"http://{host}:{port}"
            yield api
        finally:
            api.release.set()
            await runner.cleanup()

    def queue(self, *sketches: Sketch) -> None:
        """Answer the next requests of conversations with these, one each."""
        self._queue += map(step, sketches)

    def when(self, words: str, *sketches: Sketch) -> None:
        """Answer prompts that contain `words`; the script added last goes first."""
        self._scripts.insert(0, (words, [step(sketch) for sketch in sketches]))

    @property
    def turns(self) -> list[Request]:
        """The requests of conversations."""
        return [request for request in self.requests if request.asks]

    @property
    def prompts(self) -> list[str]:
        """What was typed: the prompts, once each, as they arrived."""
        firsts = [request for request in self.turns if request.rounds == 0]
        return [request.prompt for request in firsts]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw) if raw else {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        seen = Request(request.method, request.path, headers, body, time.monotonic())
        self.requests.append(seen)
        if request.path == "/":
            return web.Response()
        if request.path == "/v1/messages/count_tokens":
            return web.json_response({"input_tokens": len(raw) // 4})
        if request.path != "/v1/messages" or request.method != "POST":
            self.unknown.append(request.path)
            return _refuse(Fault(404, "not_found_error", f"no {request.path}"))
        chosen = self._choose(seen)
        if isinstance(chosen, Fault) and not (chosen.in_stream and body.get("stream")):
            return _refuse(chosen)
        if not body.get("stream"):
            assert isinstance(chosen, Message)
            return web.json_response(_whole(chosen, body))
        try:
            return await self._stream(request, chosen, body)
        except ConnectionResetError:  # the client broke the request off
            self.broken_off += 1
            raise

    def _choose(self, request: Request) -> Step:
        if not request.asks:
            return step(json.dumps({"title": self.title}))
        if self._queue:
            return self._queue.pop(0)
        for words, steps in self._scripts:
            if words in request.prompt:
                return steps[min(request.rounds, len(steps) - 1)]
        return step(self.default)

    async def _stream(self, request: web.Request, chosen: Step, body: Json) -> web.StreamResponse:
        if isinstance(chosen, Message) and chosen.hold == 0:
            self.holding.set()
            await self.release.wait()
        response = web.StreamResponse(headers={**_ids(), "content-type": "text/event-stream"})
        await response.prepare(request)
        deltas = 0
        wire = 0 if isinstance(chosen, Fault) else chosen.wire
        for event in _faulty(chosen, body) if isinstance(chosen, Fault) else events(chosen, body):
            await _write(response, event, wire)
            if isinstance(chosen, Message) and event["type"] == "content_block_delta":
                deltas += 1
                if deltas == chosen.cut:
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                if deltas == chosen.hold:
                    self.holding.set()
                    await self.release.wait()
                if chosen.pause_s:
                    await asyncio.sleep(chosen.pause_s)
        self.finished_at.append(time.monotonic())
        await response.write_eof()
        return response


async def _write(response: web.StreamResponse, event: Json, wire: int) -> None:
    data = f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
    for start in range(0, len(data), wire or len(data)):
        await response.write(data[start : start + (wire or len(data))])
        if wire:
            await asyncio.sleep(0)


def _ids() -> dict[str, str]:
    return {"request-id": f"req_{uuid.uuid4().hex[:24]}"}


def _refuse(fault: Fault) -> web.Response:
    return web.json_response(fault.body(), status=fault.status, headers={**_ids(), **fault.headers})


def _envelope(body: Json) -> Json:
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "claude-double"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 1},
    }


def _content(block: Block) -> Json:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(thinking):
            return {"type": "thinking", "thinking": thinking, "signature": "c2lnbmVk"}
        case ToolUse(name, arguments):
            ident = f"toolu_{uuid.uuid4().hex[:24]}"
            return {"type": "tool_use", "id": ident, "name": name, "input": dict(arguments)}


def _whole(message: Message, body: Json) -> Json:
    return {
        **_envelope(body),
        "content": [_content(block) for block in message.blocks],
        "stop_reason": message.stop_reason,
    }


def _faulty(fault: Fault, body: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": _envelope(body)}
    yield fault.body()


def events(message: Message, body: Json) -> Iterator[Json]:
    """The events of a streamed message, in the API's order."""
    yield {"type": "message_start", "message": _envelope(body)}
    yield {"type": "ping"}
    for index, block in enumerate(message.blocks):
        yield from _block_events(index, _content(block), message.delta)
    end = {"stop_reason": message.stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 50}}
    yield {"type": "message_stop"}


def _block_events(index: int, content: Json, size: int) -> Iterator[Json]:
    field_name, delta_type = {
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
        "tool_use": ("partial_json", "input_json_delta"),
    }[content["type"]]
    if content["type"] == "tool_use":
        whole, start = json.dumps(content["input"]), {**content, "input": {}}
    else:
        whole, start = content[field_name], {**content, field_name: ""}
    start.pop("signature", None)
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for at in range(0, len(whole), size):
        delta = {"type": delta_type, field_name: whole[at : at + size]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    if signature := content.get("signature"):
        delta = {"type": "signature_delta", "signature": signature}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
