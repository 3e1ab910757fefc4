"""A start imports nothing that its first reply does not need, and the rest can be imported."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gateway.app.behind import AFTERWARDS, PAGE, PROGRAMS, load_behind
from tests.doubles.service import HOUSE

START = """
import sys, gateway.cli.program, gateway.cli.run, gateway.app.run, gateway.cli.diagnosis.trial
import gateway.cli.owner_prompt, bots.slack.bot
print(*sys.modules)
"""
BEYOND = (
    "alembic", "anthropic", "discord", "mcp", "mem0", "nats", "nio", "opentelemetry", "slack_bolt",
    "sqlalchemy.dialects.postgresql", "sqlalchemy.orm", "tomlkit",
    "wcwidth",
    "adapters.cli_profile", "gateway.backup", "gateway.setup", "memory.consolidation",
)  # fmt: skip


@pytest.fixture(scope="module")
def imported() -> frozenset[str]:
    """The modules of a start with a Slack bot on SQLite, before anything is opened."""
    ran = subprocess.run([sys.executable, "-c", START], cwd=HOUSE, capture_output=True, check=True)
    return frozenset(ran.stdout.decode().split())


def test_a_start_imports_nothing_of_what_is_loaded_behind_it(imported: frozenset[str]) -> None:
    assert imported & {*PAGE, *AFTERWARDS, *PROGRAMS} == set()


@pytest.mark.parametrize("name", BEYOND)
def test_a_start_imports_nothing_that_only_few_need(imported: frozenset[str], name: str) -> None:
    assert find_spec(name) is not None
    assert [one for one in imported if f"{one}.".startswith(f"{name}.")] == []


@pytest.mark.parametrize("name", [*PAGE, *AFTERWARDS, *PROGRAMS])
def test_what_is_loaded_behind_is_there(name: str) -> None:
    assert find_spec(name) is not None


async def test_what_can_not_be_read_now_is_left_for_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where no file can be opened for a moment: Moot goes on."""
    (tmp_path / "unread_now.py").write_text("raise OSError(24, 'Too many open files')\n")
    (tmp_path / "read_then.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    await load_behind(("unread_now", "read_then"))
    assert "unread_now" not in sys.modules
    assert sys.modules.pop("read_then")
