"""Calls that take long, over a connection that may break: asked again until there is a result.

Whoever is asked begins once, keeps the call for a moment, and replies with nothing while there is
no result yet. So a reply that is lost costs one more question, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from gateway.workers.link import Link, LinkDown

HOLD_S = 2.0  # of one question
REPLY_S = HOLD_S + 1.0
AGAIN_S = 0.1
KEPT_S = 60.0  # a result, for whom it did not reach
PENDING = b""


class HeldCalls:
    """The calls of others, by their names."""

    def __init__(self) -> None:
        self._calls: dict[str, asyncio.Task[bytes]] = {}

    async def result(self, name: str, begin: Callable[[], Awaitable[bytes]]) -> bytes:
        """A call's result, or PENDING. begin: makes it, when it is the first time."""
        call = self._calls.get(name)
        if call is None:
            call = self._calls[name] = asyncio.create_task(_run(begin), name=f"call {name}")
            call.add_done_callback(lambda _: self._forget_later(name))
        await asyncio.wait({call}, timeout=HOLD_S)
        return call.result() if call.done() and not call.cancelled() else PENDING

    def cancel(self, name: str, why: str = "") -> None:
        """Nobody waits for it any more."""
        if (call := self._calls.get(name)) is not None:
            call.cancel(why)

    def _forget_later(self, name: str) -> None:
        asyncio.get_running_loop().call_later(KEPT_S, self._calls.pop, name, None)

    async def close(self) -> None:
        """End all that go on."""
        for call in self._calls.values():
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls.values())


async def _run(begin: Callable[[], Awaitable[bytes]]) -> bytes:
    return await begin()


async def call(link: Link, subject: str, data: bytes) -> bytes:
    """The result of a call, however long it takes; whoever waits for it gives up by cancelling."""
    while True:
        with contextlib.suppress(LinkDown):
            if (reply := await link.ask(subject, data, REPLY_S)) != PENDING:
                return reply
            continue
        await asyncio.sleep(AGAIN_S)
