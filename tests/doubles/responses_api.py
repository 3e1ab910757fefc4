"""A loopback double of the OpenAI Responses API, as Codex and OpenAI's own client speak it.

Requests without tools are beside the conversation, and those that Codex marks as made for a
session's title. A tool that the request
calls "custom" is given its text as it is: `ToolUse("apply_patch", {"input": "..."})`.
"""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping

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
_ADDED = ("<environment_context>", "# AGENTS.md instructions", "<turn_aborted>")


class Request(scripted_api.Request):
    """A request as it arrived."""

    @property
    def asks(self) -> bool:
        titles = "thread_title" in self.headers.get("x-codex-turn-metadata", "")
        return self.path.endswith("/responses") and bool(self.tools) and not titles

    @property
    def tools(self) -> list[Json]:
        """What the model may call; for some models Codex sends them as an item of the input.

        Those of a namespace stand for themselves, with its name as `namespace`.
        """
        more = [tool for item in self._input for tool in item.get("tools", ())]
        return [one for tool in (*self.body.get("tools", ()), *more) for one in _flat(tool)]

    @property
    def history(self) -> list[str]:
        return [text for item in self._input if (text := _prompt(item))]

    @property
    def rounds(self) -> int:
        count, answered = 0, False
        for item in reversed(self._input):
            if _prompt(item):
                break
            gave = item.get("type", "").endswith("_output")
            count += gave and not answered
            answered = gave
        return count

    @property
    def system(self) -> str:
        told = [_text(m) for m in self._input if m.get("role") in ("system", "developer")]
        return "\n".join([self.body.get("instructions") or "", *told])

    @property
    def _input(self) -> list[Json]:
        given = self.body.get("input", [])
        if isinstance(given, str):
            return [{"type": "message", "role": "user", "content": given}]
        items: list[Json] = given
        return items


def _flat(tool: Json) -> list[Json]:
    if tool.get("type") != "namespace":
        return [tool]
    return [{**inner, "namespace": tool["name"]} for inner in tool["tools"]]


def _prompt(item: Json) -> str:
    """What a person typed, "" for everything else."""
    text = _text(item) if item.get("role") == "user" else ""
    return "" if text.startswith(_ADDED) else text


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if "text" in part)


class ResponsesAPI(ScriptedAPI[Request]):
    """The double. Its base URL for clients is `url` + "/v1". models: what it lists."""

    reads = Request
    models = ("double",)

    def __init__(self) -> None:
        super().__init__()
        self.aside = '{"title": "A fake title"}'  # Codex asks for this shape

    async def _dispatch(self, request: web.Request, seen: Request) -> web.StreamResponse | None:
        match request.method, request.path.removeprefix("/v1"):
            case "GET" | "HEAD", "/models":
                listed = [{"id": name, "object": "model", "created": 1} for name in self.models]
                return web.json_response({"object": "list", "data": listed})
            case "GET", "/responses":  # Codex asks for a WebSocket first, where it has a login
                return web.Response(status=426)
            case "POST", "/responses":
                return await self._answer(request, seen, streams=bool(seen.body.get("stream")))
        return None

    def _refuse(self, fault: Fault) -> web.Response:
        headers = {"x-request-id": uuid.uuid4().hex, **fault.headers}
        return web.json_response({"error": _error(fault)}, status=fault.status, headers=headers)

    def _events(self, chosen: Step, seen: Request) -> Iterable[Event]:
        numbers = itertools.count()
        for event in _told(chosen, seen, self.tokens):
            whole = {**event, "sequence_number": next(numbers)}
            data = f"event: {event['type']}\ndata: {json.dumps(whole, ensure_ascii=False)}\n\n"
            yield Event(data.encode(), event["type"].endswith(".delta"))

    def _whole(self, chosen: Message, seen: Request) -> web.Response:
        return web.json_response(_ended(_response(seen), chosen, _items(chosen, seen), self.tokens))


# ── What a response is ──────────────────────────────────────────────────────────────────


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:24]}"


def _response(seen: Request) -> Json:
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": seen.body.get("model", "double"),
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
    }


def _ended(response: Json, chosen: Message, output: list[Json], tokens: Tokens) -> Json:
    usage = {
        "input_tokens": tokens.read,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.read + tokens.written,
    }
    ended = {**response, "status": "completed", "output": output, "usage": usage}
    if chosen.stop == "max_tokens":
        ended |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return ended


def _items(chosen: Message, seen: Request) -> list[Json]:
    """The whole output items."""
    tools = {tool.get("name", ""): tool for tool in seen.tools}
    return [_item(block, tools) for block in chosen.blocks]


def _item(block: Block, tools: Mapping[str, Json]) -> Json:
    match block:
        case Text(text):
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            item = {"type": "message", "id": _id("msg"), "role": "assistant", "content": [part]}
        case Thinking(text):
            part = {"type": "summary_text", "text": text}
            item = {"type": "reasoning", "id": _id("rs"), "summary": [part]}
        case ToolUse(name, given):
            tool = tools.get(name, {})
            item = {"name": name, "call_id": _id("call")}
            if "namespace" in tool:
                item["namespace"] = tool["namespace"]
            if tool.get("type") == "custom":
                item |= {"type": "custom_tool_call", "id": _id("ctc"), "input": given["input"]}
            else:
                text = json.dumps(dict(given), ensure_ascii=False)
                item |= {"type": "function_call", "id": _id("fc"), "arguments": text}
    return {**item, "status": "completed"}


# ── How it streams ──────────────────────────────────────────────────────────────────────


def _told(chosen: Step, seen: Request, tokens: Tokens) -> Iterator[Json]:
    """The events in the API's order, without their numbers."""
    response = _response(seen)
    yield {"type": "response.created", "response": response}
    if isinstance(chosen, Fault):
        failed = {**response, "status": "failed", "error": _error(chosen)}
        yield {"type": "response.failed", "response": failed}
        return
    yield {"type": "response.in_progress", "response": response}
    output = _items(chosen, seen)
    for index, item in enumerate(output):
        yield from _item_events(item, index, chosen.delta)
    ended = _ended(response, chosen, output, tokens)
    yield {"type": f"response.{ended['status']}", "response": ended}


def _item_events(item: Json, index: int, size: int) -> Iterator[Json]:
    at: Json = {"item_id": item["id"], "output_index": index}
    begun = {**item, "status": "in_progress"} | {
        name: type(item[name])() for name in ("content", "summary", "arguments", "input")
        if name in item
    }  # fmt: skip
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    match item:
        case {"content": [part]}:
            at["content_index"] = 0
            empty = {**part, "text": ""}
            yield {"type": "response.content_part.added", **at, "part": empty}
            yield from _grown("response.output_text", "text", part["text"], at, size)
            yield {"type": "response.content_part.done", **at, "part": part}
        case {"summary": [part]}:
            at["summary_index"] = 0
            empty = {**part, "text": ""}
            yield {"type": "response.reasoning_summary_part.added", **at, "part": empty}
            name = "response.reasoning_summary_text"
            yield from _grown(name, "text", part["text"], at, size)
            yield {"type": "response.reasoning_summary_part.done", **at, "part": part}
        case {"arguments": text}:
            named = {**at, "name": item["name"]}
            name = "response.function_call_arguments"
            yield from _grown(name, "arguments", text, named, size)
        case {"input": text}:
            yield from _grown("response.custom_tool_call_input", "input", text, at, size)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _grown(name: str, whole: str, text: str, at: Json, size: int) -> Iterator[Json]:
    """A text in deltas, and its end."""
    more: Json = {"logprobs": []} if name == "response.output_text" else {}
    for begin in range(0, len(text), size):
        yield {"type": f"{name}.delta", **at, **more, "delta": text[begin : begin + size]}
    yield {"type": f"{name}.done", **at, **more, whole: text}


def _error(fault: Fault) -> Json:
    code = "context_length_exceeded" if "too long" in fault.message else _CODES.get(fault.status)
    kind = "invalid_request_error" if fault.status < 429 else fault.kind
    return {"message": fault.message, "type": kind, "param": None, "code": code}
