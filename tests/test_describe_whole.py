"""`moot describe` alone, and what comes of it: a program that nobody described works."""

from __future__ import annotations

import asyncio
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from contract.errors import AgentError
from tests.doubles.described import DESCRIBED, HOUSE, Decided, answers, command, reply_to
from tests.doubles.matrix import sampled
from tests.doubles.replies import Replies

TOML = """# what I wrote stays
[gateway]
listen = "127.0.0.1:0"  # and here
[sandbox]
mode = "off"
"""


async def moot(folder: Path, *words: str, given: str = "") -> tuple[int, str]:
    """Run the command; its exit code, and what it printed."""
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(folder),
        "MOOT_HOME": str(folder),
        "PYTHONPATH": str(HOUSE),
    }
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from gateway.main import main; main()",
        *words,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(180):
        out, _ = await running.communicate(given.encode())
    assert running.returncode is not None
    return running.returncode, out.decode()


async def described(folder: Path, program: str, *options: str) -> dict[str, Any]:
    """The settings that `moot describe` wrote for it."""
    (folder / "moot.toml").write_text(TOML)
    words = ("describe", "--yes", "--name", "mine", *options, "--", *command(program))
    code, out = await moot(folder, *words)
    assert code == 0, out
    text = (folder / "moot.toml").read_text()
    assert text.startswith(TOML)
    settings: dict[str, Any] = tomllib.loads(text)["agents"]["mine"]["settings"]
    return settings


@pytest.mark.parametrize("program", sampled(DESCRIBED, "pico"))
async def test_a_program_works_by_what_describe_wrote(tmp_path: Path, program: str) -> None:
    """Its replies are exact, but that curses drops joiners."""
    settings = await described(tmp_path, program, "--permission-prompt", "please perm")
    given = GenericSettings.model_validate({"command": command(program), **settings})
    launch = Launch(tmp_path / "home", tmp_path / "work")
    agent = CliAgent(generic_profile("mine", given), launch)
    try:
        for kind in ("short", "code", "wide", "long", "short"):
            answer = await agent.ask(f"[HEADER]\nRoom: #lab\n\n{kind}", Replies())
            curses = program == "ledger"  # it drops joiners
            assert answer.text == (
                reply_to(kind).replace("\u200d", "") if curses else reply_to(kind)
            )
        decided = Decided("no", launch.workspace)
        answer = await agent.ask("[HEADER]\n\nplease perm", decided)
        assert decided.told_before == []
        assert answer.text == f"answered {answers(launch.workspace)[0]}"
        word = "count" if program == "pico" else "slow"
        asking = asyncio.create_task(agent.ask(f"{word} please", Replies()))
        asked = launch.workspace / "ASKED"
        async with asyncio.timeout(30):
            while word not in asked.read_text():
                await asyncio.sleep(0.05)
        await agent.interrupt()
        with pytest.raises(AgentError, match="stopped"):
            await asking
        assert (await agent.ask("say again", Replies())).text == "You said again."
    finally:
        await agent.close()


async def test_nothing_is_written_without_a_yes(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text(TOML)
    code, out = await moot(tmp_path, "describe", "--", *command("pico"), given="n\n")
    assert code == 1
    assert "[agents.pico.settings]" in out
    assert (tmp_path / "moot.toml").read_text() == TOML


async def test_explain_shows_the_screen_the_patterns_and_the_reply(tmp_path: Path) -> None:
    await described(tmp_path, "pico")
    code, out = await moot(tmp_path, "agents", "mine", "--explain")
    assert code == 0
    assert " ready, box │ pico>" in out
    assert "echo │ pico> Say hello" in out
    assert "  > Hello." in out


async def test_explain_shows_the_screen_on_which_no_row_is_ready(tmp_path: Path) -> None:
    await described(tmp_path, "pico")
    file = tmp_path / "moot.toml"
    file.write_text(file.read_text().replace("'^pico> $'", "'^nano> $'\nready_still_s = 1.0"))
    code, out = await moot(tmp_path, "agents", "mine", "--explain")
    assert code == 1
    assert "│ pico>" in out
    assert "matches `ready` in [agents.mine.settings]: ^nano> $" in out


async def test_a_name_that_is_taken_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text(f"{TOML}[agents.pico]\nprofile = 'claude-code'\n")
    code, out = await moot(tmp_path, "describe", "--yes", "--", *command("pico"))
    assert code == 2
    assert "--name" in out
