"""Persona files: re-read when they change; a broken one keeps its last good form."""

import os
from pathlib import Path

import pytest

from contract.errors import ConfigError
from gateway.settings.personas.personas import Personas, parse_persona

GOOD = "---\nagent: demo\naliases: [cc, Two]\n---\nYou help.\n"


def write(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.md"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))


def test_a_persona_is_its_front_matter_and_its_body() -> None:
    persona = parse_persona("ada", GOOD.replace("Two", "two"))
    assert persona.names == ("ada", "cc", "two")
    assert persona.front.agent == "demo"
    assert persona.body == "You help."


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("ada", "You help.", "ada.md: begin with ---"),
        ("ada", "---\n---\nhi", "ada.md: agent is missing"),
        ("ada", "---\nagent: demo\ncolour: red\n---\n", "colour: .*known: agent"),
        ("ada", "---\nagent: [\n---\n", "ada.md:3: front matter"),
        ("ada", "---\n- agent\n---\n", "`key: value` lines"),
        ("ada", GOOD, "aliases.1: must be a name"),
        ("Ada!", "---\nagent: demo\n---\n", "lower case"),
        ("ada", "---\nagent: !!python/object/apply:os.system [id]\n---\n", "front matter"),
    ],
)
def test_a_mistake_is_a_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_persona(name, text)


def test_a_changed_file_is_read_again_and_a_broken_one_keeps_its_last_good_form(
    tmp_path: Path,
) -> None:
    write(tmp_path, "ada", "---\nagent: demo\n---\nfirst")
    personas = Personas(tmp_path)
    write(tmp_path, "ada", "---\nagent: demo\n---\nsecond")
    assert personas.refresh()
    assert personas.good["ada"].body == "second"
    write(tmp_path, "ada", "agent: demo")
    personas.refresh()
    assert personas.good["ada"].body == "second"
    assert "begin with ---" in personas.problems["ada"]
    write(tmp_path, "ada", "---\nagent: demo\n---\nthird")
    personas.refresh()
    assert (personas.good["ada"].body, personas.problems) == ("third", {})


def test_files_that_come_and_go_are_personas_that_come_and_go(tmp_path: Path) -> None:
    personas = Personas(tmp_path)
    assert not personas.refresh()
    write(tmp_path, "bob", "---\nagent: claude-code\n---\n")
    write(tmp_path, "zoe", "---\nagent: demo\n---\n")
    personas.refresh()
    assert list(personas.names) == ["zoe", "bob"]
    (tmp_path / "bob.md").unlink()
    personas.refresh()
    assert list(personas.names) == ["zoe"]


def test_a_body_that_names_a_section_is_warned_of(tmp_path: Path) -> None:
    write(tmp_path, "ada", "---\nagent: demo\n---\nRead the raw transcript first.")
    personas = Personas(tmp_path, ("RAW TRANSCRIPT",))
    assert "RAW TRANSCRIPT" in personas.warnings["ada"]
    assert "ada" in personas.good


def test_the_personas_that_come_with_moot_are_sound() -> None:
    personas = Personas(Path(__file__).parents[2] / "personas")
    assert set(personas.good) == {"claude", "codex", "demo"}
    assert not personas.problems
