"""`moot agents`: what it finds out of an agent, in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.cli.diagnosis.agents import AgentHealth, Preflight, wanted
from gateway.settings.config import load_config

HOUSE = Path(__file__).parents[2]
ECHOES = """
import sys
if "--version" in sys.argv: print("tiny 1.2.3"); sys.exit()
while True:
    text = input("> ")
    print("* {answer}", flush=True)
"""
CONFIG = """
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
[agents.ends]
command = ["PYTHON", "-c", "print('no key'); raise SystemExit(3)"]
[agents.tiny]
command = ["PYTHON", "tiny.py"]
[agents.tiny.settings]
ready = '^> ?$'
reply = '\\* '
echo = '> (.+)'
quiet_s = 0.3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = CONFIG.replace("PYTHON", sys.executable).replace("tiny.py", str(tmp_path / "tiny.py"))
    (tmp_path / "moot.toml").write_text(text)
    (tmp_path / "tiny.py").write_text(ECHOES.replace("{answer}", "ok"))
    return tmp_path


async def examined(folder: Path, name: str, *, asks: bool = True) -> tuple[AgentHealth, list[str]]:
    doing: list[str] = []
    config = load_config(None, base=folder)
    async with Preflight.open(config, {"PATH": os.defpath}) as preflight:
        health = await preflight.examine(name, lambda _, what: doing.append(what), asks=asks)
    assert list((folder / "data").iterdir()) == []
    return health, doing


async def test_an_agent_that_answers_is_well(folder: Path) -> None:
    health, doing = await examined(folder, "tiny")
    assert health.well
    assert health.trial is not None
    assert health.trial.logged_in
    assert (health.version.found, health.trouble) == ("1.2.3", "")
    assert doing == ["asking its version", "starting", "asking it", ""]
    assert str(health).startswith("✓ tiny")
    assert 'answers "ok"' in str(health)


async def test_the_demo_agent_is_well(folder: Path) -> None:
    health, _ = await examined(folder, "demo")
    assert (health.well, health.version.found, health.trouble) == (True, None, "")


async def test_another_answer_is_told(folder: Path) -> None:
    (folder / "tiny.py").write_text(ECHOES.replace("{answer}", "Quota used up."))
    health, _ = await examined(folder, "tiny")
    assert health.trouble == "It answered something else: Quota used up."


async def test_an_agent_that_does_not_start_says_why(folder: Path) -> None:
    health, _ = await examined(folder, "ends")
    assert not health.well
    assert "no key" in health.trouble
    assert str(health).startswith("✗ ends")


async def test_an_agent_that_is_not_here_says_how_to_get_it(folder: Path) -> None:
    health, doing = await examined(folder, "codex")
    assert not health.installed
    assert "@openai/codex" in health.trouble
    assert doing == [""]


async def test_looking_only_starts_nothing(folder: Path) -> None:
    health, doing = await examined(folder, "tiny", asks=False)
    assert health.trial is None
    assert health.version.found == "1.2.3"
    assert "starting" not in doing


async def test_a_name_that_nobody_knows_is_refused(folder: Path) -> None:
    async with Preflight.open(load_config(None, base=folder), {}) as preflight:
        assert wanted(preflight, ["tiny"]) == ["tiny"]
        assert {"tiny", "demo", "codex", "anthropic"} <= set(wanted(preflight, []))
        with pytest.raises(ConfigError, match="nobody"):
            wanted(preflight, ["nobody"])


def test_the_command_prints_a_line_an_agent_and_fails_for_one_that_is_not_well(
    folder: Path,
) -> None:
    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from gateway.main import main; main()", "agents", *arguments],
            cwd=folder,
            env={
                "PATH": os.defpath,
                "PYTHONPATH": str(HOUSE),
                "HOME": str(folder),
                "MOOT_HOME": str(folder),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    good = ran("tiny")
    assert (good.returncode, good.stdout.count("\n"), good.stderr) == (0, 1, "")
    bad = ran("--json", "tiny", "ends")
    assert bad.returncode == 1
    assert [health["name"] for health in json.loads(bad.stdout)] == ["tiny", "ends"]
    listed = ran("--list", "ends", "demo")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert {line[:6] for line in listed.stdout.splitlines()} == {"· ends", "· demo"}
    everything = ran("--list")
    assert everything.returncode == 0
    assert "✗ codex " in everything.stdout
    assert "@openai/codex" in everything.stdout
    assert ran("--list", "codex").returncode == 1


def test_a_program_that_is_too_old_is_told_with_the_remedy_everywhere(folder: Path) -> None:
    old = folder / "qwen"
    old.write_text("#!/bin/sh\necho 0.20.9\n")
    old.chmod(0o755)
    (folder / "personas").mkdir()
    (folder / "personas" / "qwen.md").write_text("---\nagent: qwen\n---\n")

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from gateway.main import main; main()", *words],
            cwd=folder,
            env={
                "PATH": f"{folder}:{os.defpath}",
                "PYTHONPATH": str(HOUSE),
                "HOME": str(folder),
                "MOOT_HOME": str(folder),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    listed = ran("agents", "--list")
    assert listed.returncode == 1
    [line] = [line for line in listed.stdout.splitlines() if "Qwen" in line]
    assert line.startswith("✗ qwen")
    assert "or newer: update it." in listed.stdout
    found = ran("doctor", "--offline")
    assert found.returncode == 2
    assert "Qwen Code 0.20.9 is too old" in found.stdout
