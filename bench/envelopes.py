"""Slack's envelopes in one burst: `python -m bench.envelopes`.

A real `moot run` gets so many at once, and each one's time is from its frame on the socket to its
acknowledgement, which for a message means that it is on disk. Slack wants it within three seconds.
Rows: all in one channel and in many; people's messages, with mentions among them, and what needs
no storing (joins). Slack's double runs in the bench's own process and shares the processors.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.rig import Asked, TimedSlack, arguments, cpu_s, moot, run, share
from tests.doubles.service import Service
from tests.doubles.slack import BOT_USER, OLIVIA

QUIET_S = 3.0  # between rows


async def burst(
    slack: TimedSlack, service: Service, rooms: list[str], given: argparse.Namespace, row: str
) -> None:
    """One row. All envelopes are on their way before the first is acknowledged."""
    delivery = slack.delivery
    await asyncio.sleep(QUIET_S)
    before, cpu = len(delivery.envelopes), cpu_s(service.pid)
    every = given.envelopes // given.mentions if "mentions" in row else 0
    subtype = "channel_join" if row.endswith("joins") else None
    for number in range(given.envelopes):
        mention = f"<@{BOT_USER}> " if every and number % every == 0 else ""
        text, room = f"{mention}line {number} of a busy morning", rooms[number % len(rooms)]
        await slack.say(text, OLIVIA, room, subtype=subtype)
    sent = delivery.envelopes[before:]
    await asyncio.gather(*(one.over.wait() for one in sent))
    cpu = cpu_s(service.pid) - cpu
    taken = [one.acked_at - one.sent_at for one in sent]
    again = sum(one.sent > 1 for one in sent)
    all_s = max(one.acked_at for one in sent) - min(one.sent_at for one in sent)
    p50, p99 = (share(taken, part) for part in (0.5, 0.99))
    print(
        f"  {row:32} {len(sent)} envelopes: p50 {p50:.2f} p99 {p99:.2f}"
        f" max {max(taken):.2f} s, all in {all_s:.2f} s, CPU {cpu:.2f} s, sent again {again}"
    )


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """All rows, in front of one Moot."""
    with tempfile.TemporaryDirectory() as folder:
        async with moot(Path(folder), asked) as (slack, service):
            rooms = slack.rooms(given.rooms)
            await burst(slack, service, rooms, argparse.Namespace(envelopes=200), "(warm)")
            await burst(slack, service, rooms, given, f"{given.rooms} channels, joins")
            await burst(slack, service, rooms, given, f"{given.rooms} channels")
            await burst(slack, service, rooms[:1], given, "one channel")
            await burst(slack, service, rooms, given, f"{given.rooms} channels, mentions")
            await burst(slack, service, rooms[:1], given, "one channel, mentions")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--envelopes", type=int, default=1_200)
    parser.add_argument("--mentions", type=int, default=100)


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
