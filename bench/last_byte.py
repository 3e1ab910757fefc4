"""How soon an answer is known after the model's last byte, of every real command-line agent.

    python -m bench.last_byte [--turns 10] [--pause-ms 0] [NAME ...]

Prints a row for each: milliseconds from the last byte that a double of its API sent to the answer
that its session gives, of short replies and of 200 lines, the last row for a program described in
TOML that writes its record and draws; then how much of that passed since the program had last
written to its record, which is Moot's own part (a hook comes later than the record in some). An
agent that is not installed is left out. The double sends all at once; with --pause-ms it rests
between pieces of 23 characters, as a model does: then a program that is slow to take them has done
so when the last one comes.
"""

import argparse
import asyncio
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from tests.doubles.model_steps import Message, Text
from tests.doubles.replies import Replies
from tests.every_agent.stage import Cli, Stage, asked, clis

SHORT = "A **short** reply.\n\n- one\n- two"
LONG = "\n".join(f"{n}. line {n} with `code` and **bold** words in it" for n in range(200))
DESCRIBED = """
import json, sys, time
from pathlib import Path
record = Path.home() / "record.jsonl"
print("> ", end="", flush=True)
for number, line in enumerate(sys.stdin):
    for step in range(5):
        print(f"thinking {step}", flush=True)
        time.sleep(0.1 + number % 7 / 50)
    row = {"role": "agent", "text": f"Reply {number}.", "at": time.monotonic()}
    with record.open("a") as file:
        file.write(json.dumps(row) + "\\n")
    print(f"Reply {number}.\\n> ", end="", flush=True)
"""


def row(name: str, kind: str, ends: list[float], own: list[float] | None = None) -> None:
    """One line of the table. own: seconds since the record was written."""
    ms = sorted(round(end * 1000) for end in ends)
    since = f", since its record {statistics.median(own) * 1000:4.0f} ms" if own else ""
    print(
        f"{name:>12} {kind:>9}: median {statistics.median(ms):4.0f} ms, "
        f"worst {ms[-1]:4d} ms of {len(ms)}{since}",
        flush=True,
    )


def since_written(cli: Cli, home: Path) -> float:
    """Seconds since a file of the program's record was last written to."""
    record = cli.profile.signs.record
    if record is None:
        return 0.0
    files = home.glob(re.sub(r"\{\w+\}", "*", record.glob) + ("*" if record.query else ""))
    return time.time() - max((file.stat().st_mtime for file in files), default=time.time())


async def real(cli: Cli, turns: int, pause_s: float, folder: Path) -> None:
    """The rows of a real program."""
    async with Stage.open(cli, folder) as stage:
        agent = stage.agent()
        await agent.start()
        for kind, reply in (("short", SHORT), ("200 lines", LONG)):
            ends, own = [], []
            for number in range(turns + 1):
                stage.api.forget()
                stage.api.when(f"Turn {number}: {kind}", Message((Text(reply),), pause_s=pause_s))
                await asked(agent, f"Turn {number}: {kind}")
                if number or kind != "short":  # the first one warms it up
                    ends.append(time.monotonic() - stage.api.finished_at[-1])
                    own.append(since_written(cli, stage.folder / "shared"))
            row(cli.name, kind, ends, own)


async def described(turns: int, folder: Path) -> None:
    """The row of a program that was described in TOML."""
    program, home = folder / "program.py", folder / "home"
    program.write_text(DESCRIBED)
    settings = GenericSettings.model_validate(
        {
            "command": [sys.executable, str(program)],
            "ready": "^>$",
            "record": {"file": "record.jsonl", "reply": {"role": "agent"}, "text": "text"},
        }
    )
    agent = CliAgent(generic_profile("described", settings), Launch(home, folder / "work"))
    ends = []
    for _ in range(turns):
        await agent.ask("Say something.", Replies(()))
        ended = (home / "record.jsonl").stat().st_mtime_ns
        ends.append((time.time_ns() - ended) / 1e9)
    await agent.close()
    row("described", "short", ends)


async def run(names: list[str], turns: int, pause_s: float, folder: Path) -> None:
    """All rows, one after the other."""
    for cli in clis():
        if cli.program.exists() and (cli.name in names or not names):
            await real(cli, turns, pause_s, folder / cli.name)
    if "described" in names or not names:
        await described(turns, folder)


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--pause-ms", type=float, default=0.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(options.names, options.turns, options.pause_ms / 1000, Path(folder)))


if __name__ == "__main__":
    main()
