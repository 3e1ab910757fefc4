"""Sandboxes, where this machine has them, and an agent that runs every command it is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.agent import Launch, Sandbox
from adapters.cli.session import CliAgent
from adapters.cli_profile import Setup
from adapters.profiles.generic import GenericSettings, generic_profile
from tests.doubles.programs import changed
from tests.doubles.replies import Replies

SHELL = Path(__file__).parent / "tuis" / "shell.py"
TOKEN = Setup(logins=("token",))
SETTINGS = {
    "ready": "^you> ?$",
    "echo": "you> (.+)",
    "reply": "bot: ",
    "aside": r"thinking|\(code ",
    "interrupt": ["ctrl-c"],
    "quiet_s": 0.3,
}


def bwrap() -> Path:
    """Bubblewrap; without one that works here the test is skipped, and fails where CI is set."""
    found = shutil.which("bwrap")
    reason = "there is no bubblewrap here: sh tests/setup"
    if found:
        tried = subprocess.run(
            [found, "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"],
            capture_output=True,
            check=False,
        )
        if tried.returncode == 0:
            return Path(found)
        reason = f"no sandbox can be made here: {tried.stderr.decode()}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def obedient(
    folder: Path,
    sandbox: Sandbox | None,
    *,
    login: Path | None = None,
    setup: Setup = TOKEN,
    **changes: object,
) -> CliAgent:
    """The agent, with its HOME and workspace in a scope's folder. login: a HOME with the logins of
    `setup`."""
    command = [sys.executable, "-u", str(SHELL)]
    settings = GenericSettings.model_validate({"command": command, **SETTINGS, **changes})
    launch = Launch(
        folder / "home",
        folder / "work",
        command=tuple(command),
        sandbox=sandbox,
        env=(("PATH", "/usr/local/bin:/usr/bin:/bin"),),
        cols=300,
        login=login,
    )
    return CliAgent(changed(generic_profile("obedient", settings), setup=setup), launch)


async def ran(agent: CliAgent, command: str) -> str:
    """What the agent says that came of a command."""
    return (await agent.ask(f"please <<{command}>>", Replies())).text
