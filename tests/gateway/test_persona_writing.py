"""Fields of a persona's front matter are read and changed; everything else stays byte for byte."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import ConfigError
from gateway.settings.personas.check import FRONT_MATTER
from gateway.settings.personas.writing import values_of, with_value

TEXT = (
    "---\n# whose it is\nagent: codex   # for now\nnobody_knows: [a,  b]\n\n"
    "description: 'It''s: quoted'\nmodel:   # none yet\n---\nYou are Ada.\n\n---\nagent: no\n"
)


def changed(old: str, new: str, key: str, value: str) -> None:
    """In TEXT, `old` becomes `new`, and nothing else changes."""
    assert TEXT.count(old) == 1
    assert with_value(TEXT, key, value) == TEXT.replace(old, new)


def test_a_value_is_replaced_and_comments_and_unknown_keys_stay() -> None:
    changed("agent: codex   #", "agent: claude-code   #", "agent", "claude-code")
    changed("'It''s: quoted'", "reads, and explains", "description", "reads, and explains")
    changed("model:   # none", "model: opus # none", "model", "opus")


def test_a_key_that_is_missing_is_added_and_an_empty_value_takes_its_key_away() -> None:
    changed("none yet\n---", "none yet\nworkspace: ~/src/saga\n---", "workspace", "~/src/saga")
    changed("description: 'It''s: quoted'\n", "", "description", "")
    changed("agent: codex   # for now", "# for now", "agent", "")
    assert with_value(TEXT, "model", "") == TEXT


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a: b", "'a: b'"),
        ("5", "'5'"),
        ("~", "'~'"),
        ("on", "'on'"),
        ("x # y", "'x # y'"),
        ("it's", "it's"),
        ("two\nlines", "two lines"),
        ("héllo 😀", "héllo 😀"),
    ],
)
def test_a_value_is_quoted_where_yaml_would_read_something_else(value: str, written: str) -> None:
    changed("'It''s: quoted'", written, "description", value)


def test_a_text_without_front_matter_is_given_one() -> None:
    assert with_value("You are Ada.\n", "agent", "demo") == "---\nagent: demo\n---\nYou are Ada.\n"
    assert with_value("", "agent", "") == ""
    assert with_value("---\n---\nHi\n", "agent", "demo") == "---\nagent: demo\n---\nHi\n"
    windows = "\ufeff---\r\nagent: demo\r\n---\r\nHi\r\n"
    assert with_value(windows, "model", "x") == windows.replace("demo\r\n", "demo\r\nmodel: x\r\n")


def test_of_a_sandbox_that_is_a_table_only_the_mode_changes() -> None:
    flow = "---\nagent: demo\nsandbox: {hosts: [a.org], mode: auto} # why\n---\nHi\n"
    assert values_of(flow, ["sandbox"]) == {"sandbox": "auto"}
    assert with_value(flow, "sandbox", "on") == flow.replace("auto", "on")
    without = with_value(flow, "sandbox", "")
    assert without == flow.replace(", mode: auto", "")
    assert with_value(without, "sandbox", "off") == flow.replace(
        "{hosts: [a.org], mode: auto}", "{mode: off, hosts: [a.org]}"
    )
    block = "---\nagent: demo\nsandbox:\n  # why\n  hosts: [a.org]\nmodel: x\n---\nHi\n"
    assert with_value(block, "sandbox", "on") == block.replace("hosts:", "mode: on\n  hosts:")
    plain = "---\nagent: demo\nsandbox: true\n---\nHi\n"
    assert values_of(plain, ["sandbox"]) == {"sandbox": "on"}
    assert with_value(plain, "sandbox", "off") == plain.replace("true", "off")


def test_a_text_of_several_lines_becomes_one_line() -> None:
    text = "---\ndescription: >-\n  one\n  two\nagent: demo\n---\nHi\n"
    assert values_of(text, ["description", "model"]) == {"description": "one two", "model": ""}
    assert with_value(text, "description", "three") == (
        "---\ndescription: three\nagent: demo\n---\nHi\n"
    )
    assert with_value(text, "description", "") == "---\nagent: demo\n---\nHi\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\nagent: demo\n",
        "---\nagent: [\n---\n",
        "---\njust words\n---\n",
        "---\nagent: demo\nmodel: [a, b]\n---\n",
        "---\nagent: &a demo\nmodel: *a\n---\n",
        "---\nagent: demo\n...\n---\n",
    ],
)
def test_what_can_only_be_changed_in_the_text_is_left_for_its_author(text: str) -> None:
    with pytest.raises(ConfigError, match=r"the text|close it"):
        with_value(text, "model", "opus")


def test_what_cannot_be_shown_in_a_field_has_no_value() -> None:
    assert values_of("---\nagent: [a]\nmodel: 5\n---\n", ["agent", "model", "workspace"]) == {
        "agent": None, "model": "5", "workspace": "",
    }  # fmt: skip
    assert values_of("---\nagent: [\n---\n", ["agent"]) == {"agent": None}
    assert values_of("Hi\n", ["agent"]) == {"agent": ""}


@given(st.text(max_size=60), st.sampled_from(["agent", "model", "workspace", "description"]))
def test_any_value_is_read_back_and_the_other_keys_are_as_they_were(value: str, key: str) -> None:
    made = with_value(TEXT, key, value)
    assert values_of(made, [key])[key] == " ".join(value.splitlines())
    fronts = []
    for text in (TEXT, made):
        match = FRONT_MATTER.match(text)
        assert match is not None
        fronts.append({k: v for k, v in yaml.safe_load(match[1]).items() if k != key})
        assert text[match.end() :] == "You are Ada.\n\n---\nagent: no\n"
    assert fronts[0] == fronts[1]
