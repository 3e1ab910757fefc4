"""Which version a program is, and what people read when it is too old."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.cli_profile import Profile, ReadySigns
from adapters.session.version import find_version, is_older, parse_version
from contract.errors import AgentError
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import changed, program
from tests.doubles.replies import Replies

PROMPT = re.compile(r"^> *$", re.MULTILINE)


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


ASKS = """
import asyncio, sys
from pathlib import Path
from adapters.session.version import find_version, keep_versions
from tests.doubles.programs import program
keep_versions(Path(sys.argv[1]))
asking = find_version(program(""), (sys.argv[2],), {"PATH": "/usr/bin:/bin"}, Path("/"))
print(asyncio.run(asking))
"""


def test_a_version_is_asked_for_once_also_across_restarts(tmp_path: Path) -> None:
    kept, path = tmp_path / "versions.json", script(tmp_path, "1.0")
    words = [sys.executable, "-c", ASKS, str(kept), str(path)]

    def told() -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    assert [told(), told()] == ["1.0", "1.0"]
    assert (tmp_path / "asked").read_text().splitlines() == ["--version"]
    assert kept.stat().st_mode & 0o777 == 0o600
    script(tmp_path, "2.0")
    assert [told(), told()] == ["2.0", "2.0"]
    kept.write_text("spoilt")
    assert told() == "2.0"
    assert (tmp_path / "asked").read_text().splitlines() == ["--version"] * 3


def with_options(tmp_path: Path, *options: str) -> Profile:
    """A program that notes its options, and ends where one of them isn't `--old`."""
    body = f"""
with open({str(tmp_path / "asked")!r}, "a") as file:
    file.write(f"{{sys.argv[1:]}}\\n")
for option in sys.argv[1:]:
    if option != "--old":
        print(f"error: unexpected argument '{{option}}' found\\n\\nFor more, try '--help'.")
        sys.exit(2)
ready()
while True:
    text = paste(); enter()
    reply(text)
"""
    groups = tuple((option,) for option in options)
    return changed(program(body), options=groups, newer=("--newest", "--not-given"))


async def test_an_option_that_an_older_release_does_not_know_is_left_out(
    open_agent: OpenAgent, tmp_path: Path
) -> None:
    profile = with_options(tmp_path, "--newest=off", "--old")
    for word in ("one", "two"):
        agent = open_agent(profile)
        assert (await agent.ask(word, Replies())).text == word
        await agent.close()
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["['--newest=off', '--old']", "['--old']", "['--old']"]


async def test_an_option_that_every_release_knows_is_never_left_out(
    open_agent: OpenAgent, tmp_path: Path
) -> None:
    profile = with_options(tmp_path, "--old", "--needed")
    with pytest.raises(AgentError) as caught:
        await open_agent(profile).ask("hello", Replies())
    assert "unexpected argument '--needed' found" in caught.value.say
    assert len((tmp_path / "asked").read_text().splitlines()) == 1


async def test_a_release_that_tells_no_state_is_ready_by_its_prompt(
    open_agent: OpenAgent,
) -> None:
    body = """
out("\\x1b[?2004h> ")
text = paste(); enter()
reply(text)
time.sleep(60)
"""
    signs = ReadySigns(PROMPT, state="idle", stateless_s=0.2, quiet_s=0.1, timeout_s=20.0)
    agent = open_agent(changed(program(body), ready=signs))
    assert (await agent.ask("hello", Replies())).text == "hello"


async def test_a_program_that_is_gone_has_no_version(tmp_path: Path) -> None:
    path = tmp_path / "nowhere"
    assert await find_version(old(path), (str(path),), {}, tmp_path) is None
