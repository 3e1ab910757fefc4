"""The command `moot` as an operator uses it: what it prints, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from contract.briefing import Briefing

HOUSE = Path(__file__).parents[1]
GOLDEN = HOUSE / "tests" / "composer" / "golden" / "specification"


def moot(
    *words: str, cwd: Path = HOUSE, given: str | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "MOOT_HOME": str(cwd),
        "PYTHONPATH": str(HOUSE),
        **more,
    }
    code = "from gateway.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        input=given,
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
        (("header", "nowhere.json"), "nowhere.json: there is no such file"),
        (("header",), "say which briefing"),
        (("replay", "nowhere.jsonl", "--agent", "claude-code"), "nowhere.jsonl"),
        (("check", "--config", "nowhere.toml"), "there is no such file"),
        (("run", "--config", "nowhere.toml"), "there is no such file"),
        (("memory", "list", "--config", "nowhere.toml"), "there is no such file"),
        (("memory", "import", "nowhere.jsonl"), "nowhere.jsonl: can't be read"),
        (("memory", "wipe"), "say --yes"),
        (("memory", "delete-person", "Andi"), "'Andi' is not a sender id"),
        (("memory", "consolidate", "--scope", "*"), "not a scope"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    result = moot(*words, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_check_without_a_file_finds_the_demo_agent_and_nothing_wrong(tmp_path: Path) -> None:
    result = moot("check", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "@demo answers with" in result.stdout
    assert "the configuration is sound" in result.stdout


def test_check_asks_the_platforms_unless_told_not_to(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text(
        '[[bots]]\nplatform = "slack"\npersonas = ["demo"]\napi_url = "http://127.0.0.1:9/"\n'
    )
    secrets = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    offline = moot("check", "--offline", cwd=tmp_path, **secrets)
    assert (offline.returncode, "slack: " in offline.stdout) == (0, False)
    asked = moot("check", cwd=tmp_path, **secrets)
    assert (asked.returncode, "✗ slack: " in asked.stdout) == (2, True), asked.stderr
    assert "Traceback" not in asked.stderr


@pytest.mark.parametrize(
    ("access", "says"),
    [
        (
            "",
            "⚠ moot.toml lets nobody ask an agent but on the page: under [access] add your own id,",
        ),
        ('rooms = "open"', "⚠ moot.toml makes nobody an owner in the chat"),
        ('owners = ["slack:U1"]', ""),
    ],
)
def test_check_says_when_nobody_may_ask_and_which_line_to_add(
    tmp_path: Path, access: str, says: str
) -> None:
    table = '[[bots]]\nplatform = "slack"\npersonas = ["demo"]\n'
    (tmp_path / "moot.toml").write_text(f"{table}[access]\n{access}\n")
    secrets = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    result = moot("check", "--offline", cwd=tmp_path, **secrets)
    assert result.returncode == 0, result.stdout
    told = [line for line in result.stdout.splitlines() if "nobody" in line]
    assert [says in line for line in told] == ([True] if says else [])


def test_check_names_every_mistake_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "ada.md").write_text("---\nagent: pi\n---\n")
    (tmp_path / "personas" / "bob.md").write_text("no front matter")
    (tmp_path / "moot.toml").write_text(
        '[gateway]\nlisten = "0.0.0.0:8377"\n'
        '[[bots]]\nplatform = "slack"\npersonas = ["ada", "zoe"]\n'
        '[agents.pi]\ncommand = "pi"\nsettings = { ready = "(" }\n'
    )
    result = moot("check", cwd=tmp_path, MOOT_TOKEN="letters")
    assert result.returncode == 2
    for sentence in (
        "bob.md: begin with ---",
        "there is no zoe.md",
        "agents.pi.settings.ready: not a regular expression",
        "set SLACK_BOT_TOKEN in the environment",
        "MOOT_TOKEN can be guessed, and others than this machine can reach the page",
    ):
        assert sentence in result.stdout
    assert "letters" not in result.stdout


def test_a_second_moot_on_the_same_address_is_told_so(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "moot.toml").write_text(f'[gateway]\nlisten = "127.0.0.1:{port}"\n')
        result = moot("run", cwd=tmp_path)
    assert result.returncode == 2
    assert f"{result.stderr.splitlines()[-1]}\n" == (
        f"moot: gateway.listen: another program listens on 127.0.0.1:{port}, perhaps an older "
        f"Moot: end it, or choose another port: `moot run --port {port + 1}`, or "
        "`gateway.listen` in moot.toml\n"
    )


def test_memory_is_carried_from_one_folder_to_another(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    line = json.dumps({"scope": "room:web:r", "text": "Ünïcode “tea”", "date": "2023-05-07"})
    result = moot("memory", "import", "-", cwd=old, given=line)
    assert (result.returncode, result.stdout) == (0, "imported 1 fact\n"), result.stderr
    exported = moot("memory", "export", cwd=old).stdout
    assert moot("memory", "import", "-", cwd=new, given=exported).returncode == 0
    assert moot("memory", "export", cwd=new).stdout == exported
    listed = moot("memory", "list", "--json", cwd=new)
    assert json.loads(listed.stdout)["text"] == "Ünïcode “tea”"
    assert listed.stderr == ""  # no bars where nobody looks


def test_who_stops_reading_a_list_gets_no_traceback(tmp_path: Path) -> None:
    lines = (json.dumps({"scope": "room:web:r", "text": f"tea {n}"}) for n in range(5_000))
    moot("memory", "import", "-", cwd=tmp_path, given="\n".join(lines))
    code = "from gateway.main import main; main()"
    result = subprocess.run(
        f"{sys.executable} -c '{code}' memory list | head -1",
        shell=True,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "MOOT_HOME": str(tmp_path),
            "PYTHONPATH": str(HOUSE),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert result.stdout.startswith("#1 room:web:r tea 0")
    assert result.stderr == ""
