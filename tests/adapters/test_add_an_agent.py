"""The example of docs/add-an-agent.md is a whole agent: it answers in a pseudo-terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import adapters.profiles
from adapters.catalog import profiles
from adapters.cli_profile import Profile
from tests.adapters.conftest import OpenAgent
from tests.doubles.programs import PRELUDE
from tests.doubles.replies import Replies

PAGE = Path(__file__).parents[2] / "docs" / "add-an-agent.md"
MOST_LINES = 60

# What the page says of the program: its options, its settings, its record, its title, its screen.
PROGRAM = """
home, how, session = os.environ["HOME"], sys.argv[1], sys.argv[2]
settings = json.load(open(os.path.join(home, ".parrot", "settings.json")))

turn = 0

def note(**row):
    row["turn"] = turn
    with open(os.path.join(home, ".parrot", session + ".jsonl"), "a") as file:
        file.write(json.dumps(row) + "\\n")

title("idle")
out("\\x1b[?2004h> ")
while True:
    text = paste(); out(text); enter()
    turn += 1
    title("busy"); note(type="user")
    said = f"{settings['instructions']} {how} **{text}**"
    out("\\r\\n\\r\\n* " + said + "\\r\\n\\r\\n> ")
    note(type="parrot", text=said); note(type="done")
    title("idle")
"""


def example() -> str:
    (text,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    return str(text)


@pytest.fixture
def parrot() -> Profile:
    """The page's profile."""
    module = ModuleType("parrot")
    exec(compile(example(), str(PAGE), "exec"), vars(module))
    found = module.PARROT
    assert isinstance(found, Profile)
    return found


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which the program is."""
    program = tmp_path / "bin" / "parrot"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{PRELUDE}{PROGRAM}", encoding="utf-8")
    program.chmod(0o700)
    return f"{program.parent}{os.pathsep}/usr/bin:/bin"


def test_the_example_is_short() -> None:
    code = [line for line in example().splitlines() if line.strip()]
    assert len(code) <= MOST_LINES


async def test_the_example_answers_and_resumes(
    parrot: Profile, path: str, open_agent: OpenAgent
) -> None:
    environment = (("PATH", path),)
    agent = open_agent(parrot, environment=environment, persona="I")
    answer = await agent.ask("a line\nand another", Replies())
    assert (answer.text, answer.source) == ("I --session **a line\nand another**", "record")
    await agent.close()
    again = open_agent(parrot, environment=environment, persona="You", session_id=agent.session_id)
    assert (await again.ask("hello", Replies())).text == "You --resume **hello**"
    assert again.resumed


def test_a_file_in_the_folder_is_found_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parrot.py").write_text(example(), encoding="utf-8")
    monkeypatch.setattr(adapters.profiles, "__path__", [str(tmp_path), *adapters.profiles.__path__])
    profiles.cache_clear()
    try:
        assert profiles()["parrot"].title == "Parrot"
    finally:
        sys.modules.pop("adapters.profiles.parrot", None)
        monkeypatch.undo()
        profiles.cache_clear()
