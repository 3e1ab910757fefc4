"""Looks for anything that is lost or doubled on a bad day: `python -m bench.soak`.

Moot is killed (`kill -9`) at random moments with mentions under way, while Slack delivers some
of them three times, limits the rate, fails, and cuts connections, calls carried out or not.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.rig import Asked, TimedSlack, arguments, connected, moot, run
from tests.doubles.service import Service
from tests.doubles.slack import BOT_USER, Fault

FAULTS = [("429", "before")] + [
    (kind, when) for kind in ("500", "cut") for when in ("before", "after")
]
QUIET_S = 2.0  # longer than any wait between two tries of a post that failed once

Mention = tuple[str, str]
"""Channel and ts."""


async def bad_day(
    slack: TimedSlack, running: Service, asked: Asked, kills: int, chance: random.Random
) -> set[Mention]:
    """Mentions between kills; all that were made."""
    rooms = slack.rooms(5)
    made: set[Mention] = set()
    for _ in range(kills):
        await connected(slack)
        for _ in range(chance.randrange(4, 20)):
            if chance.random() < 0.2:
                kind, when = chance.choice(FAULTS)
                slack.fail("chat.postMessage", Fault(kind, when))  # type: ignore[arg-type]
            if chance.random() < 0.05:
                slack.delivery.cut()
            channel, times = chance.choice(rooms), chance.choice((1, 1, 3))
            text = f"<@{BOT_USER}> {asked.text.format(n=len(made))}"
            made.add((channel, await slack.say(text, channel=channel, times=times)))
            await asyncio.sleep(chance.uniform(0, 0.03))
        await asyncio.sleep(chance.uniform(0, 0.4))
        await running.kill()
        await running.start()
    return made


def answers(slack: TimedSlack) -> Counter[Mention]:
    """The number of answers to each mention."""
    said: list[tuple[str, dict[str, Any]]] = [
        (channel, message)
        for channel, messages in slack.messages.items()
        for message in messages.values()
    ]
    return Counter(
        (channel, message["thread_ts"])
        for channel, message in said
        if message.get("user") == BOT_USER and "word " in message["text"]
    )


async def settled(slack: TimedSlack, made: set[Mention], within_s: float) -> None:
    """Until every mention is answered and nothing more comes, or the time is over."""
    end = time.monotonic() + within_s
    while time.monotonic() < end and not answers(slack).keys() >= made:
        await asyncio.sleep(0.2)
    before = -1
    while before != (before := answers(slack).total()):
        await asyncio.sleep(QUIET_S)


async def measure(given: argparse.Namespace, asked: Asked) -> None:
    """One bad day."""
    seed = given.seed if given.seed is not None else random.randrange(10_000)
    print(f"{given.kills} kills, seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        async with moot(Path(folder), asked) as (slack, running):
            made = await bad_day(slack, running, asked, given.kills, random.Random(seed))
            await settled(slack, made, 120)
            counted = answers(slack)
            log = running.log()
    lost = len(made - counted.keys())
    doubled = sum(counted.values()) - len(counted)
    # slack_sdk logs an acknowledgement that a cut socket didn't take as an ERROR of its own.
    errors = [line for line in log.splitlines() if " ERROR " in line and "slack_sdk" not in line]
    print(
        f"  {len(made)} mentions: {lost} lost, {doubled} doubled; {len(errors)} errors in the log"
    )
    for line in errors[:5]:
        print(f"    {line}")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int)


if __name__ == "__main__":
    run(measure(*arguments(__doc__, options)))
