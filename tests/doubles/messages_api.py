"""A loopback double of the Anthropic Messages API that plays scripts and records what arrives.

    async with MessagesAPI.open() as api:
        api.when("weather", ToolUse("Bash", {"command": "date"}), "It is **late**.")
        api.queue(Fault.overloaded(), "Better now.")

A script belongs to a prompt. Its first step answers the prompt, the second the request that
brings the first one's tool results, and so on: the choice looks at the request alone, so that a
client that repeats a request gets the same step again. Queued steps go before all scripts and
are used up, one a request. Requests without tools (Claude Code asks for the session's title
that way) get `title`, or `aside` if it is set, and use nothing up.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from tests.doubles.model_steps import Fault, Json, Message, Sketch, Step, events, step, whole


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
        prompts = list(self._prompts())
        return prompts[-1][1] if prompts else ""

    @property
    def history(self) -> list[str]:
        """All that was typed so far, this prompt last."""
        return [text for _, text in self._prompts()]

    @property
    def rounds(self) -> int:
        """How many messages of the model came since the prompt."""
        prompts = list(self._prompts())
        since = self.body["messages"][prompts[-1][0] :] if prompts else []
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
    """The double. Public besides the methods:

    url: its base URL. requests: all that arrived, in order. unknown: paths that it does not
    serve. finished_at: monotonic, when each stream's last event was written. broken_off: streams
    that the client left. holding, release: a stream waits (see `Message.hold`), and may go on.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.unknown: list[str] = []
        self.finished_at: list[float] = []
        self.broken_off = 0
        self.holding = asyncio.Event()
        self.release = asyncio.Event()
        self.title = "A fake title"
        self.aside: Sketch | None = None
        self.default: Sketch = "ok"
        self._queue: list[Step] = []
        self._scripts: list[tuple[str, list[Step]]] = []

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[MessagesAPI]:
        """Serve on a random loopback port."""
        api = cls()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", api._serve)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
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

    def forget(self) -> None:
        """Forget queue and scripts, and let what holds go on."""
        self._queue.clear()
        self._scripts.clear()
        self.release.set()

    def hold(self) -> None:
        """Let the next stream that is to hold do so."""
        self.holding.clear()
        self.release.clear()

    @property
    def turns(self) -> list[Request]:
        """The requests of conversations."""
        return [request for request in self.requests if request.asks]

    @property
    def prompt(self) -> str:
        """The prompt that arrived last."""
        return self.turns[-1].prompt

    # ── Serving ─────────────────────────────────────────────────────────────────────────

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body: Json = json.loads(raw) if raw else {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        seen = Request(request.method, request.path, headers, body, time.monotonic())
        self.requests.append(seen)
        match request.method, request.path:
            case "HEAD", "/":
                return web.Response()
            case "POST", "/v1/messages/count_tokens":
                return web.json_response({"input_tokens": len(raw) // 4})
            case "POST", "/v1/messages":
                return await self._answer(request, self._choose(seen), body)
        self.unknown.append(f"{request.method} {request.path}")
        return _refuse(Fault(404, "not_found_error", f"no {request.path}"))

    def _choose(self, request: Request) -> Step:
        if not request.asks:
            return step(self.aside or json.dumps({"title": self.title}))
        if self._queue:
            return self._queue.pop(0)
        for words, steps in self._scripts:
            if words in request.prompt:
                return steps[min(request.rounds, len(steps) - 1)]
        return step(self.default)

    async def _answer(self, request: web.Request, chosen: Step, body: Json) -> web.StreamResponse:
        streams = bool(body.get("stream"))
        if isinstance(chosen, Fault) and not (chosen.in_stream and streams):
            return _refuse(chosen)
        try:
            if isinstance(chosen, Message) and chosen.hold == 0:
                await self._hold()
            if streams:
                return await self._stream(request, chosen, body)
            assert isinstance(chosen, Message)
            return web.json_response(whole(chosen, body), headers=_ids())
        except (asyncio.CancelledError, ConnectionResetError):
            self.broken_off += 1
            raise

    async def _hold(self) -> None:
        self.holding.set()
        await self.release.wait()

    async def _stream(self, request: web.Request, chosen: Step, body: Json) -> web.StreamResponse:
        response = web.StreamResponse(headers={**_ids(), "content-type": "text/event-stream"})
        await response.prepare(request)
        deltas = 0
        for event in events(chosen, body):
            await _write(response, event, chosen.wire if isinstance(chosen, Message) else 0)
            if isinstance(chosen, Fault) or event["type"] != "content_block_delta":
                continue
            deltas += 1
            if deltas == chosen.cut:
                assert request.transport is not None
                request.transport.abort()
                return response
            if deltas == chosen.hold:
                await self._hold()
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
    headers = {**_ids(), **fault.headers}
    return web.json_response(fault.body(), status=fault.status, headers=headers)
