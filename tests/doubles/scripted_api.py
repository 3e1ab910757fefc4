"""What the loopback doubles of models' APIs have in common: scripts, a queue, a memory.

    async with ChatAPI.open() as api:
        api.when("weather", ToolUse("shell", {"command": "date"}), "It is **late**.")
        api.queue(Fault.overloaded(), "Better now.")

A script belongs to a prompt. Its first step answers the prompt, the second the request that
brings the first one's tool results, and so on: the choice looks at the request alone, so that a
client that repeats a request gets the same step again. Queued steps go before all scripts and
are used up, one a request. Requests beside a conversation (a session's title) use nothing up.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, NamedTuple, Self, TypeVar

from aiohttp import web

from tests.doubles.model_steps import TOKENS, Fault, Json, Message, Sketch, Step, step


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived; each dialect says what its body means. at: monotonic seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    at: float

    @property
    def asks(self) -> bool:
        """Whether it is a turn of the conversation, not a side request."""
        raise NotImplementedError

    @property
    def history(self) -> list[str]:
        """All that was typed so far, this prompt last, without what the client adds."""
        raise NotImplementedError

    @property
    def rounds(self) -> int:
        """How many messages of the model came since the prompt."""
        raise NotImplementedError

    @property
    def system(self) -> str:
        """The system prompt."""
        raise NotImplementedError

    @property
    def prompt(self) -> str:
        """What was typed last."""
        return self.history[-1] if self.history else ""


class Event(NamedTuple):
    """A piece of a streamed answer. delta: whether it carries some of the content."""

    data: bytes
    delta: bool = False


R = TypeVar("R", bound=Request)


class ScriptedAPI(Generic[R]):
    """A double. Public besides the methods:

    url: its base URL. requests: all that arrived, in order. clients: the addresses of the
    connections that they came over. unknown: paths that it does not
    serve. finished_at: monotonic, when each stream's last event was written. broken_off: streams
    that the client left. holding, release: a stream waits (see `Message.hold`), and may go on.
    aside: what requests beside the conversation get. default: what a prompt without a script
    gets. reads: how this dialect reads a request. tokens: what each answer tells that it took.
    """

    reads: type[R]

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[R] = []
        self.clients: set[object] = set()
        self.unknown: list[str] = []
        self.finished_at: list[float] = []
        self.broken_off = 0
        self.holding = asyncio.Event()
        self.release = asyncio.Event()
        self.aside: Sketch = "A fake title"
        self.default: Sketch = "ok"
        self.tokens = TOKENS
        self._queue: list[Step] = []
        self._scripts: list[tuple[str, list[Step]]] = []

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
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
        self.default = "ok"
        self.tokens = TOKENS
        self.release.set()

    def hold(self) -> None:
        """Let the next stream that is to hold do so."""
        self.holding.clear()
        self.release.clear()

    @property
    def turns(self) -> list[R]:
        """The requests of conversations."""
        return [request for request in self.requests if request.asks]

    @property
    def prompt(self) -> str:
        """The prompt that arrived last."""
        return self.turns[-1].prompt

    # ── What a dialect says ─────────────────────────────────────────────────────────────

    async def _dispatch(self, request: web.Request, seen: R) -> web.StreamResponse | None:
        """Serve a path; None: there is none such."""
        raise NotImplementedError

    def _refuse(self, fault: Fault) -> web.Response:
        """The error as the API words it."""
        raise NotImplementedError

    def _events(self, chosen: Step, seen: R) -> Iterable[Event]:
        """A streamed answer."""
        raise NotImplementedError

    def _whole(self, chosen: Message, seen: R) -> web.Response:
        """An answer that is not streamed."""
        raise NotImplementedError

    def _headers(self) -> Mapping[str, str]:
        """Of every answer."""
        return {}

    # ── Serving ─────────────────────────────────────────────────────────────────────────

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        if request.transport is not None:
            self.clients.add(request.transport.get_extra_info("peername"))
        headers = {name.lower(): value for name, value in request.headers.items()}
        body: Json = json.loads(raw) if raw else {}
        seen = self.reads(request.method, request.path, headers, body, time.monotonic())
        self.requests.append(seen)
        if (response := await self._dispatch(request, seen)) is not None:
            return response
        self.unknown.append(f"{request.method} {request.path}")
        return self._refuse(Fault(404, "not_found_error", f"no {request.path}"))

    def _choose(self, request: R) -> Step:
        if not request.asks:
            return step(self.aside)
        if self._queue:
            return self._queue.pop(0)
        for words, steps in self._scripts:
            if words in request.prompt:
                return steps[min(request.rounds, len(steps) - 1)]
        return step(self.default)

    async def _answer(self, request: web.Request, seen: R, *, streams: bool) -> web.StreamResponse:
        chosen = self._choose(seen)
        if isinstance(chosen, Fault) and not (chosen.in_stream and streams):
            return self._refuse(chosen)
        try:
            if isinstance(chosen, Message) and chosen.hold == 0:
                await self._hold()
            if streams:
                return await self._stream(request, chosen, seen)
            assert isinstance(chosen, Message)
            return self._whole(chosen, seen)
        except (asyncio.CancelledError, ConnectionResetError):
            self.broken_off += 1
            raise

    async def _hold(self) -> None:
        self.holding.set()
        await self.release.wait()

    async def _stream(self, request: web.Request, chosen: Step, seen: R) -> web.StreamResponse:
        headers = {**self._headers(), "content-type": "text/event-stream"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        deltas = 0
        for event in self._events(chosen, seen):
            await _write(response, event.data, chosen.wire if isinstance(chosen, Message) else 0)
            if isinstance(chosen, Fault) or not event.delta:
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


async def _write(response: web.StreamResponse, data: bytes, wire: int) -> None:
    for start in range(0, len(data), wire or len(data)):
        await response.write(data[start : start + (wire or len(data))])
        if wire:
            await asyncio.sleep(0)
