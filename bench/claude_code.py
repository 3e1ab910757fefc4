"""The cost of the real Claude Code, against a double of its API.

    python -m bench.claude_code [--short 20] [--long 10]

Prints the time from a start to a prompt that is taken, milliseconds from the model's last event
to the answer, milliseconds from a prompt to its request at the API, and resident memory.
Needs the program of the tests: `npm ci` in tests/agents, or MOOT_TEST_CLAUDE.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from adapters.cli.session import CliAgent
from gateway.observability.metering import measure as measured
from tests.doubles.claude_stage import Stage, asked

HEADER = "[SESSION CONTEXT]\nRoom: #bench\nYou are: @claude\n\n[CURRENT INVOCATION]\n"
SHORT = "A **short** reply.\n\n- one\n- two"
LONG = "\n".join(f"{n}. line {n} with `code` and **bold** words in it" for n in range(200))


def resident_mb(agent: CliAgent) -> float:
    """The resident memory of the program and what it started."""
    assert agent.pid is not None
    return measured([agent.pid])[agent.pid].memory_bytes / 1024 / 1024


async def measure(stage: Stage, agent: CliAgent, name: str, reply: str, count: int) -> None:
    """One row: so many turns with this reply."""
    ends, begins = [], []
    for number in range(count):
        stage.api.queue(reply)
        begin = time.monotonic()
        answer = await asked(agent, f"{HEADER}Turn {number}: {name}")
        ends.append(time.monotonic() - stage.api.finished_at[-1])
        begins.append(stage.api.turns[-1].at - begin)
        assert answer.text == reply
    print(
        f"{name:>10}: {count} turns exact; last event to answer"
        f" median {statistics.median(ends) * 1000:.0f} ms, worst {max(ends) * 1000:.0f} ms;"
        f" prompt to request median {statistics.median(begins) * 1000:.0f} ms;"
        f" {resident_mb(agent):.0f} MB"
    )


async def run(short: int, long: int, folder: Path) -> None:
    """All rows."""
    async with Stage.open(folder) as stage:
        starts = []
        for number in range(5):
            agent = stage.agent(f"start-{number}")
            begin = time.monotonic()
            await agent.start()
            starts.append(time.monotonic() - begin)
            await agent.close()
        print(f"{'start':>10}: ready median {statistics.median(starts):.2f} s of {len(starts)}")
        agent = stage.agent("turns", persona="You are brief.")
        await agent.start()
        print(f"{'idle':>10}: {resident_mb(agent):.0f} MB")
        await measure(stage, agent, "short", SHORT, short)
        await measure(stage, agent, "200 lines", LONG, long)


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", type=int, default=20)
    parser.add_argument("--long", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(options.short, options.long, Path(folder)))


if __name__ == "__main__":
    main()
