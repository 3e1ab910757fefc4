"""The command `moot`, as somebody types it who does not know it yet."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest


def typed(*words: str) -> tuple[int, str]:
    """The exit code of `moot` with these words, and all that it printed."""
    moot = Path(sys.executable).parent / "moot"
    done = subprocess.run([moot, *words], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_it_tells_its_version() -> None:
    assert typed("--version") == (0, f"moot {version('moot')}\n")


@pytest.mark.parametrize("words", [(), ("help",), ("--help",)])
def test_alone_or_asked_for_help_it_lists_the_commands(words: tuple[str, ...]) -> None:
    code, told = typed(*words)
    assert code == 0
    assert told.index("set ") < told.index("start Moot") < told.index("replay")


def test_help_of_a_command() -> None:
    assert typed("help", "restore") == typed("restore", "--help")


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant() -> None:
    assert typed("chekc") == (
        2,
        "moot: there is no command 'chekc'; did you mean `moot check`? `moot help` lists them\n",
    )
    assert typed("zzz") == (2, "moot: there is no command 'zzz'; `moot help` lists them\n")


def test_a_backup_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "moot.db").write_bytes(b"")
    (tmp_path / "moot.toml").write_text("")
    missing = tmp_path / "nosuch.tar.gz"
    assert typed("restore", str(missing), "--config", str(tmp_path / "moot.toml")) == (
        2,
        f"moot: {missing}: there is no such file\n",
    )
