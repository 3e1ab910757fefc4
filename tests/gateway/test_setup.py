"""What connects an agent: the folder that it may work on, and the keys of its persona's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.settings.config import Config, parse_config
from gateway.settings.personas.writing import persona_text
from gateway.setup.agents import known_agent
from gateway.setup.folder import look_at, suggested

OWN = "---\n# mine\nagent: codex # for now\naliases: [cx]\n---\nMy own words.\n\n---\nagent: no\n"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A Moot in ~/.moot."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return parse_config({}, tmp_path / ".moot" / "moot.toml")


def test_a_folder_is_looked_at_before_an_agent_works_on_it(house: Config, tmp_path: Path) -> None:
    saga = tmp_path / "src" / "saga"
    (saga / ".git").mkdir(parents=True)
    (saga / "lib").mkdir()
    (saga / "a.txt").write_text("a")
    assert look_at("~/src/saga", house).note == "a Git repository"
    assert look_at("lib", house, saga).path == saga / "lib"
    assert look_at("~/src/saga/lib", house).note == "a Git repository"
    assert "can't be taken back" in look_at("~/src", house).note
    assert suggested(house, saga / "lib") == saga
    assert suggested(house, tmp_path / "src") is None


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("~/nope/deep", "has no nope"),
        ("~/a.txt", "is a file"),
        ("~", "holds everything of this account"),
        ("/", "holds everything of this account"),
        ("/proc/self", "is the system's"),
        ("relative", "begin with / or ~"),
        ("~nobody-of-this-name/x", "names an account"),
        ("~/.moot/data", "which is Moot's own"),
        (str(Path(__file__).parents[2] / "gateway" / "web"), "which is Moot's own"),
    ],
)
def test_a_folder_that_no_agent_may_have_is_refused_with_the_reason(
    given: str, fault: str, house: Config, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / ".moot" / "data").mkdir(parents=True)
    assert fault in look_at(given, house).fault


def test_a_personas_keys_are_changed_and_the_rest_of_its_file_stays() -> None:
    text = persona_text("claude", "claude-code", "", OWN, workspace='~/my "saga"', login="~")
    assert text == (
        '---\n# mine\nagent: claude-code # for now\naliases: [cx]\nworkspace: ~/my "saga"\n'
        "login: '~'\n---\nMy own words.\n\n---\nagent: no\n"
    )
    back = persona_text("claude", "codex", "", text, workspace=None, login=None)
    assert back == OWN
    assert persona_text("claude", "codex", "", OWN) == OWN


def test_a_key_that_stands_in_another_form_is_left_for_its_author() -> None:
    text = "---\ndescription: &one codex\nagent: *one\n---\nHi\n"
    with pytest.raises(ConfigError, match=r"claude.md: .*edit the text"):
        persona_text("claude", "demo", "", text)


def test_what_an_agent_logs_in_with_is_found_in_this_accounts_home_alone(
    house: Config, tmp_path: Path
) -> None:
    home = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    known = known_agent("claude-code", house, home)
    assert (known.installed, known.has_key, known.shares) == (False, False, False)
    assert known.install == "npm install -g @anthropic-ai/claude-code"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    assert known_agent("claude-code", house, home).shares
    keyed = known_agent("claude-code", house, {**home, "ANTHROPIC_API_KEY": "k"})
    assert (keyed.has_key, keyed.keys[0]) == (True, "ANTHROPIC_API_KEY")
