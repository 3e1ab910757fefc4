"""What a double of a model's API may answer: messages, faults, and the events they stream as."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tokens:
    """What an API tells that an answer took. read: `cached` of them from a cache."""

    read: int = 1000
    written: int = 50
    cached: int = 0


TOKENS = Tokens()


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

    delta: code points a delta; they tear graphemes. wire: bytes a network write; they tear UTF-8
    sequences and events (0: an event a write). pause_s: between deltas. hold: after so many
    deltas it waits until it is released; 0: before it says anything. cut: after so many the
    connection breaks. stop: the stop reason, "" for the natural one. usage: what is told of it
    beside the double's own counts. unended: the stream ends well without the message's own end.
    """

    blocks: tuple[Block, ...]
    delta: int = 23
    wire: int = 0
    pause_s: float = 0.0
    hold: int | None = None
    cut: int | None = None
    stop: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    unended: bool = False

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


def _envelope(body: Json, tokens: Tokens) -> Json:
    usage = {"input_tokens": tokens.read - tokens.cached, "output_tokens": 1}
    if tokens.cached:
        usage["cache_read_input_tokens"] = tokens.cached
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "claude-double"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
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


def whole(message: Message, body: Json, tokens: Tokens = TOKENS) -> Json:
    """The message as an answer that is not streamed."""
    envelope = _envelope(body, tokens)
    return {
        **envelope,
        "usage": {**envelope["usage"], **message.usage},
        "content": [_content(block) for block in message.blocks],
        "stop_reason": message.stop_reason,
    }


def events(chosen: Step, body: Json, tokens: Tokens = TOKENS) -> Iterator[Json]:
    """The events of a streamed answer, in the API's order."""
    yield {"type": "message_start", "message": _envelope(body, tokens)}
    if isinstance(chosen, Fault):
        yield chosen.body()
        return
    yield {"type": "ping"}
    for index, block in enumerate(chosen.blocks):
        yield from _block_events(index, _content(block), chosen.delta)
    if chosen.unended:
        return
    end = {"stop_reason": chosen.stop_reason, "stop_sequence": None}
    usage = {"output_tokens": tokens.written, **chosen.usage}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}


def _block_events(index: int, content: Json, size: int) -> Iterator[Json]:
    field_name, delta_type = {
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
        "tool_use": ("partial_json", "input_json_delta"),
    }[content["type"]]
    if content["type"] == "tool_use":
        text, start = json.dumps(content["input"]), {**content, "input": {}}
    else:
        text, start = content[field_name], {**content, field_name: ""}
    start.pop("signature", None)
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for at in range(0, len(text), size):
        delta = {"type": delta_type, field_name: text[at : at + size]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    if signature := content.get("signature"):
        delta = {"type": "signature_delta", "signature": signature}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
