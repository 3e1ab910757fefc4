"""Which version a program is, and what people read when it is too old."""

from pathlib import Path

import pytest

from adapters.cli_profile import Profile, ReadySigns
from adapters.session.version import find_version, is_older, parse_version
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import changed, program
from tests.doubles.replies import Replies


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("2.1.197 (Claude Code)\n", "2.1.197"),
        ("codex-cli 0.169.0", "0.169.0"),
        ("aider v0.86.2 on Python 3.12", "0.86.2"),
        ("1.0.0-beta.3", "1.0.0-beta.3"),
        ("0.61.0-preview.2+build7", "0.61.0-preview.2"),
        ("3.0.2.dev1", "3.0.2.dev1"),
        ("a program without one, of 2026", None),
        ("", None),
    ],
)
def test_the_first_thing_that_looks_like_a_version_is_it(output: str, version: str | None) -> None:
    assert parse_version(output) == version


def test_versions_are_compared_as_numbers_and_strange_ones_not_at_all() -> None:
    assert is_older("0.15.0", "0.24")
    assert is_older("1.0.0-beta.3", "1.0.0")
    assert not is_older("0.100.0", "0.24")
    assert not is_older("0.24", "0.24.0")
    assert not is_older("nightly", "0.24")


def script(tmp_path: Path, version: str) -> Path:
    """A program that prints its version, or ends at once."""
    path = tmp_path / "double"
    lines = [
        "#!/bin/sh",
        f'echo "$@" >> {tmp_path}/asked',
        f'if [ "$1" = --version ]; then echo "double {version}"; exit 0; fi',
        "echo 'unknown option --serve'; exit 2",
    ]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


def old(path: Path, **changes: object) -> Profile:
    changes = {"ready": ReadySigns(timeout_s=5.0), "at_least": "0.24"} | changes
    return changed(program(""), begin=(str(path), "--serve"), **changes)


async def test_a_program_that_is_too_old_to_start_is_told_with_its_version(
    open_agent: OpenAgent, tmp_path: Path
) -> None:
    agent = open_agent(old(script(tmp_path, "0.15.0")))
    for _ in range(2):
        with pytest.raises(AgentError) as caught:
            await agent.ask("hello", Replies())
    assert caught.value.kind == "startup"
    assert caught.value.say == (
        "The double ended while it was starting (code 2): unknown option --serve. "
        "It is version 0.15.0; Moot needs 0.24 or newer: update it."
    )
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked.count("--version") == 1


async def test_a_program_that_is_new_enough_is_not_blamed_on_its_version(
    open_agent: OpenAgent, tmp_path: Path
) -> None:
    agent = open_agent(old(script(tmp_path, "0.24.4")))
    with pytest.raises(AgentError) as caught:
        await agent.ask("hello", Replies())
    assert "version" not in caught.value.say


async def test_an_update_is_noticed(tmp_path: Path) -> None:
    path = script(tmp_path, "1.0")
    env = {"PATH": "/usr/bin:/bin"}
    assert await find_version(old(path), (str(path),), env, tmp_path) == "1.0"
    before = path.stat().st_mtime_ns
    script(tmp_path, "2.0")
    assert path.stat().st_mtime_ns != before
    assert await find_version(old(path), (str(path),), env, tmp_path) == "2.0"


async def test_a_program_that_is_gone_has_no_version(tmp_path: Path) -> None:
    path = tmp_path / "nowhere"
    assert await find_version(old(path), (str(path),), {}, tmp_path) is None
