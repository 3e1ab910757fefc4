"""The documentation's descriptions of programs, each run against a program that is so."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.acp.session import AcpAgent
from adapters.agent import Launch
from adapters.cli.session import CliAgent
from adapters.profiles.generic import GenericSettings, generic_profile
from gateway.sessions.programs import make_profile
from gateway.settings.config import parse_config
from tests.doubles.described import HOUSE, TUIS, Decided, reply_to
from tests.doubles.replies import Replies
from tests.test_docs import TOML, Example

DOUBLES = {"pi": f"-u {TUIS / 'pi.py'}", "my-agent": "-m tests.doubles.acp_agent"}
AGENTS = [example for example in TOML if "agents" in tomllib.loads(example.text)]


def tables(example: Example) -> Mapping[str, Mapping[str, Any]]:
    """Those of programs that only their owner has."""
    agents: dict[str, dict[str, Any]] = tomllib.loads(example.text)["agents"]
    own = {"generic", None}
    return {name: table for name, table in agents.items() if table.get("profile") in own}


DESCRIPTIONS = [example for example in AGENTS if tables(example)]


def installed(folder: Path) -> str:
    """A PATH with the programs of the examples."""
    for name, program in DOUBLES.items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\nPYTHONPATH={HOUSE} exec {sys.executable} {program} "$@"\n')
        path.chmod(0o755)
    return f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin"


def test_every_description_is_known() -> None:
    named = {name for example in DESCRIPTIONS for name in tables(example)}
    # claude-acp is driven by tests/every_agent/test_acp_adapter.py
    assert named == {"pi", "mine", "claude-acp"}
    assert len(DESCRIPTIONS) == 4


@pytest.mark.parametrize(
    "example", [one for one in DESCRIPTIONS if "pi" in tables(one)], ids=lambda one: str(one)
)
async def test_a_described_program_of_the_docs_answers(example: Example, tmp_path: Path) -> None:
    every = [tables(one).get("pi", {}) for one in DESCRIPTIONS]
    command = next(table["command"] for table in every if "command" in table)
    settings = tables(example)["pi"]["settings"]
    if "command" not in tables(example)["pi"]:  # the page goes on with its first description
        settings = {**next(table["settings"] for table in every if "command" in table), **settings}
    given = GenericSettings.model_validate({"command": command, **settings})
    launch = Launch(tmp_path / "home", tmp_path / "work", env=(("PATH", installed(tmp_path)),))
    agent = CliAgent(generic_profile("pi", given), launch)
    mark = "**" if "record" in settings else ""
    try:
        for kind in ("short", "code", "long", "say again"):
            answer = await agent.ask(f"[HEADER]\nRoom: #lab\n\n{kind}", Replies())
            assert answer.text == f"{mark}{reply_to(kind)}{mark}"
            assert answer.source == ("record" if mark else "screen")
        decided = Decided("no", tmp_path)
        answer = await agent.ask("[HEADER]\n\nplease perm", decided)
        assert answer.text == f"{mark}answered n{mark}"
        assert decided.told_before == []
    finally:
        await agent.close()


async def test_a_program_of_the_docs_that_speaks_acp_answers(tmp_path: Path) -> None:
    (example,) = (one for one in DESCRIPTIONS if "mine" in tables(one))
    raw = tomllib.loads(example.text)
    raw["agents"]["mine"]["profile"] = "generic"
    table = parse_config(raw, HOUSE / "moot.toml").agents["mine"]
    assert table.driver == "acp"
    launch = Launch(tmp_path / "home", tmp_path / "work", env=(("PATH", installed(tmp_path)),))
    agent = AcpAgent(make_profile("mine", table), launch)
    try:
        assert (await agent.ask("hello", Replies())).text
    finally:
        await agent.close()
