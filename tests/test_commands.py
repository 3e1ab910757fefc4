"""The command `moot` as an operator uses it: what it prints, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from contract import Briefing

HOUSE = Path(__file__).parents[1]
GOLDEN = HOUSE / "tests" / "composer" / "golden" / "specification"


def moot(*words: str, cwd: Path = HOUSE, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": str(HOUSE), **more}
    code = "from gateway.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_header_prints_the_header_of_a_briefing_and_nothing_else() -> None:
    result = moot("header", str(GOLDEN / "briefing.json"))
    assert result.returncode == 0
    assert result.stdout == (GOLDEN / "header.txt").read_text(encoding="utf-8")
    assert result.stderr == ""


def test_the_schema_is_what_a_briefing_is_checked_against() -> None:
    schema = json.loads(moot("header", "--schema").stdout)
    assert set(schema["required"]) >= {"room", "you", "agent", "triggered_by", "at"}
    assert set(schema["properties"]) == set(TypeAdapter(Briefing).json_schema()["properties"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("header", "nowhere.json"), "nowhere.json: can't be read"),
        (("header",), "say which briefing"),
        (("replay", "nowhere.jsonl", "--agent", "claude-code"), "nowhere.jsonl"),
        (("check", "--config", "nowhere.toml"), "there is no such file"),
        (("run", "--config", "nowhere.toml"), "there is no such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words: tuple[str, ...], sentence: str) -> None:
    result = moot(*words)
    assert result.returncode == 2
    assert result.stdout == ""
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_check_without_a_file_finds_the_demo_agent_and_nothing_wrong(tmp_path: Path) -> None:
    result = moot("check", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "@demo answers with" in result.stdout
    assert "the configuration is sound" in result.stdout


def test_check_names_every_mistake_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "ada.md").write_text("---\nagent: pi\n---\n")
    (tmp_path / "personas" / "bob.md").write_text("no front matter")
    (tmp_path / "moot.toml").write_text(
        '[gateway]\nlisten = "0.0.0.0:8377"\n'
        '[[bots]]\nplatform = "slack"\npersonas = ["ada", "zoe"]\n'
        '[agents.pi]\ncommand = "pi"\nsettings = { ready = "(" }\n'
    )
    result = moot("check", cwd=tmp_path)
    assert result.returncode == 2
    for sentence in (
        "bob.md: begin with ---",
        "there is no zoe.md",
        "agents.pi.settings.ready: not a regular expression",
        "set SLACK_BOT_TOKEN in the environment",
        "the page would listen on 0.0.0.0 without a token",
    ):
        assert sentence in result.stdout
    assert "xoxb" not in result.stdout


def test_a_second_moot_on_the_same_address_is_told_so(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "moot.toml").write_text(f'[gateway]\nlisten = "127.0.0.1:{port}"\n')
        result = moot("run", cwd=tmp_path)
    assert result.returncode == 2
    assert "is Moot running already?" in result.stderr
    assert "Traceback" not in result.stderr
