"""A loopback double of the Anthropic Messages API.

Requests without tools are beside the conversation: Claude Code asks for a session's title so.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping

from aiohttp import web

from tests.doubles import scripted_api
from tests.doubles.model_steps import Fault, Json, Message, Step, events, whole
from tests.doubles.scripted_api import Event, ScriptedAPI

BESIDE = ("<system-reminder>", "[Context: ")  # what a client adds to a prompt


class Request(scripted_api.Request):
    """A request as it arrived."""

    @property
    def asks(self) -> bool:
        return self.path == "/v1/messages" and bool(self.body.get("tools"))

    @property
    def history(self) -> list[str]:
        return [text for _, text in self._prompts()]

    @property
    def rounds(self) -> int:
        prompts = list(self._prompts())
        since = self.body["messages"][prompts[-1][0] :] if prompts else []
        return sum(message["role"] == "assistant" for message in since)

    @property
    def system(self) -> str:
        return "\n".join(block["text"] for block in _blocks(self.body.get("system", "")))

    def _prompts(self) -> Iterator[tuple[int, str]]:
        for index, message in enumerate(self.body.get("messages", [])):
            if message["role"] != "user":
                continue
            blocks = [b for b in _blocks(message["content"]) if b["type"] == "text"]
            texts = [b["text"] for b in blocks if not b["text"].startswith(BESIDE)]
            if texts:
                yield index, texts[-1]


class Bare(Request):
    """A request of a client that asks nothing beside the conversation, and may have no tools."""

    @property
    def asks(self) -> bool:
        return self.path == "/v1/messages"


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class MessagesAPI(ScriptedAPI[Request]):
    """The double."""

    reads = Request

    def __init__(self) -> None:
        super().__init__()
        self.aside = json.dumps({"title": "A fake title"})

    async def _dispatch(self, request: web.Request, seen: Request) -> web.StreamResponse | None:
        match request.method, request.path:
            case "HEAD", "/":
                return web.Response()
            case "POST", "/v1/messages/count_tokens":
                return web.json_response({"input_tokens": len(json.dumps(seen.body)) // 4})
            case "POST", "/v1/messages":
                return await self._answer(request, seen, streams=bool(seen.body.get("stream")))
        return None

    def _refuse(self, fault: Fault) -> web.Response:
        headers = {**self._headers(), **fault.headers}
        return web.json_response(fault.body(), status=fault.status, headers=headers)

    def _events(self, chosen: Step, seen: Request) -> Iterable[Event]:
        for event in events(chosen, seen.body, self.tokens):
            data = json.dumps(event, ensure_ascii=False)
            is_delta = event["type"] == "content_block_delta"
            yield Event(f"event: {event['type']}\ndata: {data}\n\n".encode(), is_delta)

    def _whole(self, chosen: Message, seen: Request) -> web.Response:
        return web.json_response(whole(chosen, seen.body, self.tokens), headers=self._headers())

    def _headers(self) -> Mapping[str, str]:
        return {"request-id": f"req_{uuid.uuid4().hex[:24]}"}
