"""What the Messages API answers: the events of a stream, the message that they add up to, and its
check. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from contract.agent import Usage
from contract.values import dataclass

Json = Mapping[str, Any]


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


# ── A stream ────────────────────────────────────────────────────────────────────────────


class EventReader:
    """Reads the bytes of a stream as they come: a line may be torn anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events that are complete, each as its JSON, which names its type. Raises ValueError
        for anything else."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                event = json.loads(line[5:])
                if not isinstance(event, dict) or "type" not in event:
                    raise ValueError("no event of the Messages API")
                yield event


class StreamedMessage:
    """A message of the model that grows by events. A block's pieces are put together once.

    began: something of it is there; ended: it is whole. docs.claude.com, "Streaming messages", read
    2026-11.
    """

    def __init__(self, on_text: Callable[[str], None], on_block: Callable[[str], None]) -> None:
        self._on_text, self._on_block = on_text, on_block
        self._message: dict[str, Any] | None = None
        self._blocks: list[_GrowingBlock] = []

    @property
    def began(self) -> bool:
        return self._message is not None

    @property
    def ended(self) -> bool:
        return self._message is not None and self._message.get("stop_reason") is not None

    def take(self, event: Json) -> None:
        """Take the next event; one of a kind that nobody knows yet is passed over.

        Raises LookupError or TypeError for one that can't stand here.
        """
        kind = event["type"]
        if kind == "message_start":
            self._message = dict(event["message"])
            return
        if self._message is None:
            if kind != "ping":
                raise LookupError("an event before its message")
            return
        if kind == "content_block_start":
            self._blocks.append(_GrowingBlock(event["content_block"]))
            self._on_block(event["content_block"]["type"])
        elif kind == "content_block_delta":
            text = self._blocks[event["index"]].grow(event["delta"])
            if text:
                self._on_text(text)
        elif kind == "message_delta":
            self._message |= event["delta"]
            told = event.get("usage") or {}
            self._message["usage"] = self._message["usage"] | _present(told)

    def whole(self) -> dict[str, Any]:
        """The message. Raises ValueError for the input of a tool that is no JSON."""
        assert self._message is not None
        return {**self._message, "content": [block.whole() for block in self._blocks]}


class _GrowingBlock:
    """A block of a message. pieces: by the block's field that they are pieces of."""

    FIELDS: Mapping[str, str] = {
        "text_delta": "text",
        "thinking_delta": "thinking",
        "signature_delta": "signature",
        "input_json_delta": "partial_json",
    }

    def __init__(self, begin: Json) -> None:
        self._begin = _present(begin)
        self._pieces: dict[str, list[str]] = {}
        self._citations: list[Json] = []

    def grow(self, delta: Json) -> str:
        """Take a piece; the text that people see of it, "" for anything else."""
        if delta["type"] == "citations_delta":
            self._citations.append(delta["citation"])
        elif name := self.FIELDS.get(delta["type"]):
            self._pieces.setdefault(name, []).append(delta[name])
            if name == "text":
                return str(delta["text"])
        return ""

    def whole(self) -> dict[str, Any]:
        block = dict(self._begin)
        for name, pieces in self._pieces.items():
            text = "".join(pieces)
            if name != "partial_json":
                block[name] = block.get(name, "") + text
            elif text:
                block["input"] = json.loads(text)
        if self._citations:
            block["citations"] = [*block.get("citations", ()), *self._citations]
        return block


def _present(values: Json) -> dict[str, Any]:
    """Without what is null: the API says so much, and needn't be told it again."""
    return {name: value for name, value in values.items() if value is not None}


# ── Its check ───────────────────────────────────────────────────────────────────────────


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


def answer_of(message: object, asked: str) -> ModelAnswer:
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
