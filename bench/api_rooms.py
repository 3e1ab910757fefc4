"""Rooms that ask an agent by API at once: `python -m bench.api_rooms`. Seconds from the first
question, until the double has the prompt of each room's session, and until the last answer; and
the processor's time that Moot took for it, which a busy machine spoils less.

`moot run` is a process of its own, just started, with a double of the Messages API on loopback;
nobody has asked anything yet, so every room's session begins. The double alone is asked by a plain
client before, as often at once, in the same run: the ratio says what Moot adds to it.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from bench.rig import ANSWER_S, run
from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.service import service

CONFIG = '[gateway]\nlisten = "127.0.0.1:0"\n[sessions]\nmost = 2\n'
PERSONA = "---\nagent: anthropic\n---\nYou are Claude.\n"
NAMES = ("all have begun", "all answered", "processor for it", "all once more")
READY_S = 5.0  # it loads the API's library once it is ready


async def at_once(rooms: int, ask: Callable[[int], Coroutine[Any, Any, None]]) -> float:
    """Seconds until all were answered."""
    begin = time.perf_counter()
    await asyncio.gather(*map(ask, range(rooms)))
    return time.perf_counter() - begin


async def by_moot(folder: Path, rooms: int) -> tuple[float, ...]:
    """Seconds of the double alone, until all sessions have begun, until all have answered, of the
    processor for that, and until all have answered once more."""
    (folder / "personas").mkdir(parents=True)
    (folder / "personas" / "claude.md").write_text(PERSONA, encoding="utf-8")
    async with BareAPI.open() as api:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with service(folder, CONFIG, **environment) as moot:
            timeout = aiohttp.ClientTimeout(ANSWER_S)
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(timeout=timeout, connector=connector) as http:

                async def alone(number: int) -> None:
                    said = {"role": "user", "content": f"word {number}"}
                    body = {"model": "m", "max_tokens": 9, "messages": [said], "stream": True}
                    async with http.post(f"{api.url}/v1/messages", json=body) as answer:
                        assert b"message_stop" in await answer.read()

                async def room(number: int) -> None:
                    body = {
                        "content": f"@claude word {number}",
                        "room": f"web:room-{number}",
                        "source": "web",
                        "sender_id": "web:ann",
                        "sender_display_name": "Ann",
                        "sender_type": "human",
                        "wait": ANSWER_S,
                    }
                    url = f"{moot.url.rstrip('/')}/api/submit"
                    async with http.post(url, json=body, headers=moot.headers) as answer:
                        told = await answer.json()
                    assert told["replies"][0]["text"] == "ok", told

                await asyncio.sleep(READY_S)
                double = await at_once(rooms, alone)
                begin, process = time.monotonic(), psutil.Process(moot.pid)
                before_s = process.cpu_times().user
                answered = await at_once(rooms, room)
                cpu_s = process.cpu_times().user - before_s
                begun = max(request.at for request in api.requests) - begin
                return double, begun, answered, cpu_s, await at_once(rooms, room)


async def bench(rooms: int, repeats: int) -> None:
    """Print the medians."""
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as folder:
        runs = [await by_moot(Path(folder) / str(number), rooms) for number in range(repeats)]
    double, *seconds = (statistics.median(one) for one in zip(*runs, strict=True))
    print(f"{rooms} rooms at once, medians of {repeats} runs")
    print(f"  the double alone     {double:6.2f} s")
    for name, took in zip(NAMES, seconds, strict=True):
        print(f"  {name:<19}  {took:6.2f} s  ({took / double:.1f} times)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    run(bench(chosen.rooms, chosen.repeats))
