"""A request to the Messages API, made of a conversation. Pure.

Up to three breakpoints of the prompt cache: behind the system prompt, behind the first block that a
user said, and behind the first block of the newest message. Pictures follow that block. The line on
the occasion differs from turn to turn and comes last in its message, so what stands before it is
read from the cache again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from adapters.api.conversation import ConversationMessage
from adapters.images import Picture
from contract.chat import Attachment
from contract.values import dataclass

Json = Mapping[str, Any]

EPHEMERAL = {"cache_control": {"type": "ephemeral"}}


@dataclass(frozen=True, slots=True)
class Frame:
    """The part that is the same in every request of a session."""

    model: str
    system: str
    max_tokens: int
    tools: tuple[Json, ...] = ()


def make_request(
    frame: Frame,
    said: Iterable[ConversationMessage],
    since: Sequence[Json],
    form: Json,
    *,
    last_round: bool,
    pictures: Mapping[Attachment, Picture | str] = MappingProxyType({}),
) -> dict[str, Any]:
    """since: what the model and its tools said in this turn. last_round: it may use no more tools.

    form: the parameters that say how much to think. pictures: those of the conversation, or the
    sentence that stands for one.
    """
    messages = [one.sent or _message(one, pictures) for one in said] + [*map(dict, since)]
    for place in (0, -1):
        first, *others = messages[place]["content"]
        messages[place] = {**messages[place], "content": [first | EPHEMERAL, *others]}
    request: dict[str, Any] = {
        "model": frame.model,
        "max_tokens": frame.max_tokens,
        "messages": messages,
        **form,
    }
    if frame.system.strip():
        request["system"] = [_text(frame.system) | EPHEMERAL]
    if frame.tools:
        request["tools"] = list(frame.tools)
        if last_round:
            request["tool_choice"] = {"type": "none"}
    return request


def tool_result(use_id: str, text: str, *, failed: bool) -> dict[str, Any]:
    """A tool's answer as a block; the API takes no empty text."""
    content = [_text(text if text.strip() else "(nothing)")]
    block = {"type": "tool_result", "tool_use_id": use_id, "content": content}
    return block | ({"is_error": True} if failed else {})


def _message(
    said: ConversationMessage, pictures: Mapping[Attachment, Picture | str]
) -> dict[str, Any]:
    texts = [_text(text) for text in said.texts]
    if not said.pictures:
        said.sent.update(role=said.role, content=texts)
        return said.sent
    shown = [_picture(pictures[one]) for one in said.pictures]
    return {"role": said.role, "content": [*texts[:1], *shown, *texts[1:]]}


def _picture(picture: Picture | str) -> dict[str, Any]:
    if isinstance(picture, str):
        return _text(picture)
    source = {"type": "base64", "media_type": picture.mime, "data": picture.data}
    return {"type": "image", "source": source}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
