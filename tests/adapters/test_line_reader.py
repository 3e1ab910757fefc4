"""A program described in TOML that reads its terminal line by line."""

import asyncio
import sys
from pathlib import Path
from typing import cast

from adapters.agent import Launch
from adapters.cli.keyboard import echoed
from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.pty.console import Console
from adapters.pty.terminal import Terminal
from tests.doubles.replies import Replies

PLAIN = """
import json, sys
from pathlib import Path
print("> ", end="", flush=True)
while line := sys.stdin.readline():
    with (Path.home() / "record.jsonl").open("a") as record:
        record.write(json.dumps({"role": "agent", "text": line.strip()[-3:]}) + "\\n")
    print("> ", end="", flush=True)
"""


def agent(folder: Path, settle_s: float) -> CliAgent:
    program = folder / "program.py"
    program.write_text(PLAIN)
    settings = GenericSettings.model_validate(
        {
            "command": [sys.executable, str(program)],
            "ready": "^>",
            "settle_s": settle_s,
            "record": {"file": "record.jsonl", "reply": {"role": "agent"}, "text": "text"},
        }
    )
    return CliAgent(generic_profile("plain", settings), Launch(folder / "home", folder / "work"))


async def test_who_takes_whole_lines_gets_enter_without_a_rest_before_it(tmp_path: Path) -> None:
    plain = agent(tmp_path, settle_s=600)
    async with asyncio.timeout(60):
        assert (await plain.ask("say one", Replies(()))).text == "one"
        assert (await plain.ask("say two", Replies(()))).text == "two"
    await plain.close()


class Box:
    """A console whose program edits its line itself, and which notes how long it was let rest."""

    takes_lines = False

    def __init__(self) -> None:
        self.rested: list[float] = []

    async def wait_quiet(self, quiet_s: float, limit_s: float, *, from_now: bool) -> None:
        self.rested.append(quiet_s)


async def test_who_has_an_input_box_is_given_time_before_enter() -> None:
    settings = GenericSettings(command=["program"], settle_s=0.3)
    box = Box()
    await echoed(generic_profile("boxed", settings), cast(Console, box), b"say one")
    assert box.rested == [0.3]


async def test_who_edits_its_line_itself_takes_no_lines(tmp_path: Path) -> None:
    for begin, takes_lines in (("", True), ("import tty; tty.setcbreak(0)", False)):
        output: list[bytes] = []
        argv = [sys.executable, "-c", f"{begin}\nprint('ready', flush=True); input()"]
        terminal = Terminal.open(
            argv,
            env={"PATH": "/usr/bin:/bin"},
            cwd=tmp_path,
            cols=80,
            rows=24,
            on_output=output.append,
            shell=True,
        )
        async with terminal:
            async with asyncio.timeout(30):
                while b"ready" not in b"".join(output):
                    await asyncio.sleep(0.01)
            assert terminal.takes_lines() is takes_lines
        assert not terminal.takes_lines()
