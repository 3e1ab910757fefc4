"""Slack in front of an agent by API, in the real `moot run`: `python -m bench.slack_api`.

Slack and the API are doubles in the bench's own process; the model says at once, or after as long
as a row says, the word that it was asked for. Every mention's time is from the event sent to its
answer at Slack. `own` is what remains beside the model's time; the processor's time is that of
Moot's process with all that a mention causes, the memory's work afterwards included. The bare bot
comes last, in the same run.

`--lag` adds after each row how long the turns of the loop were (bench/slices.py), which takes some
of the processor by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import web

from bench.memory import resident_mb
from bench.rig import Bare, TimedSlack, bare, connected, cpu_s, run, share, tokens
from bench.slices import Slices
from tests.doubles.api_stage import KEY
from tests.doubles.model_steps import Message, Text, events
from tests.doubles.service import Service, service
from tests.doubles.slack import DM, GENERAL

ASK = "echo word {n}"
AFTERWARDS_S = 4.0  # the memory learns from a room two seconds after its first turn
ASKED_BYTES = 4_096
WORD = re.compile(r"echo (word \d+)")
CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[access]
rooms = "open"
dms = "open"
[[bots]]
platform = "slack"
personas = ["claude"]
api_url = "{api_url}"
"""
PERSONA = "---\nagent: anthropic\n---\nYou are Claude.\n"


class EchoModel:
    """A Messages API that says the last word that it was asked for.

    after_s: it thinks so long, or up to a millisecond longer, as the loop's clock allows.
    thought_s: it thought so long in all.
    """

    def __init__(self) -> None:
        self.after_s = self.thought_s = 0.0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Stream it. Only the request's end is looked at: to parse all that was said before takes
        some ms in a long conversation, and would count as Moot's own."""
        asked = (await request.read())[-ASKED_BYTES:].decode(errors="replace")
        began = time.perf_counter()
        await asyncio.sleep(self.after_s)
        self.thought_s += time.perf_counter() - began
        words = WORD.findall(asked) or ["nothing"]
        said = Message((Text(words[-1]),), delta=1_000)
        told = events(said, {"model": "echo"})
        lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in told)
        return web.Response(text="".join(lines), content_type="text/event-stream")

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Its address."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/messages", self.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


def install(folder: Path, slack: TimedSlack, url: str, more: str = "") -> dict[str, str]:
    """Write an installation with a persona by API; gives its environment. url: of the model. more:
    of moot.toml."""
    (folder / "personas").mkdir(parents=True, exist_ok=True)
    (folder / "personas" / "claude.md").write_text(PERSONA, encoding="utf-8")
    (folder / "moot.toml").write_text(CONFIG.format(api_url=slack.api_url) + more, encoding="utf-8")
    return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url, **tokens(slack)}


class Rows:
    """The rows of the table, of one running Moot, or of the bare bot."""

    def __init__(self, slack: TimedSlack, moot: Service | Bare, model: EchoModel) -> None:
        self._slack, self._moot, self._model = slack, moot, model
        self._numbers = count(1)

    async def ask(self, room: str) -> float:
        """Seconds to the answer of a mention."""
        return await self._slack.seconds(room, ASK, next(self._numbers))

    async def paced(self, mentions: int) -> None:
        """One mention a second in one channel."""
        begun_s, taken = cpu_s(self._moot.pid), []
        for _ in range(mentions):
            begin = time.perf_counter()
            taken.append(await self.ask(GENERAL))
            await asyncio.sleep(max(begin + 1 - time.perf_counter(), 0))
        await asyncio.sleep(AFTERWARDS_S)
        each_ms = (cpu_s(self._moot.pid) - begun_s) / mentions * 1e3
        p50, p95 = (share(taken, part) * 1e3 for part in (0.5, 0.95))
        print(
            f"one a second, one channel: own p50 {p50:.1f} p95 {p95:.1f} ms, CPU {each_ms:.1f} ms"
        )

    async def at_once(self, rooms: Sequence[str], after_s: float) -> None:
        """A mention in every room at once."""
        self._model.after_s = after_s
        taken = await self._timed(asyncio.gather(*map(self.ask, rooms)))
        print(f"{len(rooms)} channels at once, the model takes {after_s:g} s: {taken:.2f} s")
        self._model.after_s = 0.0

    async def burst(self, mentions: int, after_s: float) -> None:
        """So many questions at once in one direct message, which are answered one by one."""
        self._model.after_s, before_s = after_s, self._model.thought_s
        took = await self._timed(asyncio.gather(*(self.ask(DM) for _ in range(mentions))))
        thought_s = self._model.thought_s - before_s
        each_ms, own_ms = (1e3 * s / mentions for s in (thought_s, took - thought_s))
        print(
            f"{mentions} at once in a DM, the model takes {each_ms:.1f} ms: {took:.2f} s,"
            f" own {own_ms:.1f} ms each"
        )
        self._model.after_s = 0.0

    async def steady(self, rooms: Sequence[str], rate: float, for_s: float) -> None:
        """So many mentions a second, one room after the other, whatever becomes of them."""
        asked, begin = list[asyncio.Task[float]](), time.perf_counter()
        for number in range(round(rate * for_s)):
            await asyncio.sleep(max(begin + number / rate - time.perf_counter(), 0))
            asked.append(asyncio.create_task(self.ask(rooms[number % len(rooms)])))
        taken = await asyncio.gather(*asked)
        p50, p99 = (share(taken, part) * 1e3 for part in (0.5, 0.99))
        print(f"{rate:g}/s over {len(rooms)} channels: p50 {p50:.1f} p99 {p99:.1f} ms")

    async def closed_loop(self, rooms: Sequence[str], for_s: float) -> float:
        """One mention under way in every room, all the time; how many a second."""
        end, taken = time.perf_counter() + for_s, list[float]()
        begun_s = cpu_s(self._moot.pid)

        async def keep_asking(room: str) -> None:
            while time.perf_counter() < end:
                taken.append(await self.ask(room))

        seconds = await self._timed(asyncio.gather(*map(keep_asking, rooms)))
        await asyncio.sleep(AFTERWARDS_S)
        each_ms = (cpu_s(self._moot.pid) - begun_s) / len(taken) * 1e3
        p50, p99 = (share(taken, part) * 1e3 for part in (0.5, 0.99))
        rate = len(taken) / seconds
        print(
            f"{len(rooms)} channels, closed loop: {rate:.1f}/s, p50 {p50:.0f} p99 {p99:.0f} ms,"
            f" CPU {each_ms:.1f} ms"
        )
        return rate

    @staticmethod
    async def _timed(work: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> float:
        begin = time.perf_counter()
        await work
        return time.perf_counter() - begin


async def measure(given: argparse.Namespace) -> None:
    """All rows, in front of one Moot that is just started."""
    model = EchoModel()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name) / "moot"
        async with TimedSlack.open() as slack, model.served() as url:
            assert isinstance(slack, TimedSlack)
            environment = install(folder, slack, url)
            first = asyncio.create_task(slack.ask(GENERAL, ASK, 0), name="first")
            begin = time.perf_counter()
            config = (folder / "moot.toml").read_text(encoding="utf-8")
            async with _moot(folder, config, environment, lag=given.lag) as moot:
                print(f"start to the first reply in Slack: {(await first).at - begin:.2f} s")
                await connected(slack)
                await asyncio.sleep(AFTERWARDS_S)
                print(f"memory after it: {resident_mb(moot.pid):.0f} MB")
                rows, rooms = Rows(slack, moot, model), slack.rooms(given.rooms)
                for row in (
                    rows.paced(given.mentions),
                    rows.at_once(rooms, 2.0),
                    rows.steady(rooms, given.rate, given.seconds),
                    rows.closed_loop(rooms, given.seconds),
                    rows.burst(given.burst, 0.05),
                ):
                    began = time.monotonic()
                    await row
                    if given.lag:
                        told = Slices.read(folder / "slices", began, time.monotonic())
                        print(*(f"    {line}" for line in told.rows()), sep="\n")
                print(f"memory at the end: {resident_mb(moot.pid):.0f} MB")
    async with bare() as (slack, bot):
        rows, rooms = Rows(slack, bot, model), slack.rooms(given.rooms)
        print("the bare bot, whose program answers at once")
        await rows.paced(given.mentions)
        await rows.closed_loop(rooms, given.seconds)


def _moot(
    folder: Path, config: str, environment: dict[str, str], *, lag: bool
) -> AbstractAsyncContextManager[Service]:
    """`moot run`, and with `lag` what notes the turns of its loop around it."""
    if not lag:
        return service(folder, config, **environment)
    noted = {**environment, "SLICES": str(folder / "slices")}
    return service(folder, config, (), sys.executable, "bench.slices", **noted)


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--mentions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=8.0, help="of the last rows but one")
    parser.add_argument("--rate", type=float, default=100.0, help="mentions a second")
    parser.add_argument("--burst", type=int, default=200)
    parser.add_argument("--lag", action="store_true", help="how long the loop's turns were")
    run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
