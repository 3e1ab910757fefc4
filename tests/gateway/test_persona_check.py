"""What is wrong with a persona's file: all of it, with its place and what would fix it."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.headings import HEADINGS
from gateway.settings.personas.check import LONG_BODY, CheckContext, PersonaFinding
from gateway.settings.personas.personas import check_persona
from gateway.settings.tables import RESERVED

AROUND = CheckContext(
    agents=("claude-code", "codex", "demo"),
    taken={"codex": "codex", "cx": "codex"},
    sections=tuple(HEADINGS),
    is_folder=lambda path: path == Path("/srv/app"),
    pools=("gpu",),
)


def faults(text: str, name: str = "ada") -> list[PersonaFinding]:
    return list(check_persona(name, text, AROUND).findings)


def one(text: str, name: str = "ada") -> PersonaFinding:
    [finding] = faults(text, name)
    return finding


def marked(text: str, finding: PersonaFinding) -> str:
    """The text that a finding is about."""
    lines = text.split("\n")
    assert finding.line == finding.end_line
    return lines[finding.line - 1][finding.column - 1 : finding.end_column - 1]


def test_a_sound_file_has_no_fault() -> None:
    text = "---\nagent: demo\nworkspace: /srv/app\naliases: [cc]\n---\nYou recall what was said.\n"
    assert faults(text) == []


def test_an_unknown_key_is_told_with_the_one_that_was_meant() -> None:
    text = "---\nagent: demo\nmodle: opus\n---\nHi\n"
    finding = one(text)
    assert (finding.severity, finding.line, finding.column) == ("error", 3, 1)
    assert marked(text, finding) == "modle"
    assert finding.suggestion == "did you mean `model`?"


def test_every_fault_is_told_in_the_order_of_the_text() -> None:
    text = (
        "---\ndescription: yes\ncolour: red\ndriver: robot\navatar: ftp://x\n---\n"
        "Read the RAW TRANSCRIPT. Key: sk-abcdefghijklmnopqrstuvwx\n"
    )
    found = faults(text)
    assert [f.line for f in found] == [1, 2, 3, 4, 5, 7, 7]
    assert [f.key for f in found[:5]] == [
        "agent", "description", "colour", "driver", "avatar",
    ]  # fmt: skip
    assert found[1].suggestion == "put it in quotes"
    assert [f.severity for f in found[5:]] == ["warning", "warning"]
    assert [marked(text, f) for f in found[5:]] == ["RAW TRANSCRIPT", "sk-abcdefghijklmnopqrstuvwx"]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("---\nagent: [\n---\nHi", 3, 1, "front matter"),
        ("---\nagent: demo\n\tmodel: x\n---\nHi", 3, 1, "cannot start any token"),
        ("---\nagent: demo\ndescription: a: b\n---\nHi", 3, 15, "mapping values are not allowed"),
        ("---\nagent: demo\nagent: codex\n---\nHi", 3, 1, "there twice"),
        ("---\nagent: demo\ndescription: 2026-13-45\n---\nHi", 2, 1, "month must be"),
        ("---\n- agent\n---\nHi", 2, 1, "`key: value` lines"),
        ("---\nagent: nobody\n---\nHi", 2, 8, "there is no agent 'nobody'"),
        ("---\nagent: demo\nworkspace: /nowhere\n---\nHi", 3, 12, "no folder /nowhere"),
        ("---\nagent: demo\nworkers: gpus\n---\nHi", 3, 10, "no pool 'gpus'"),
        ("---\nagent: demo\naliases: [a, cx]\n---\nHi", 3, 14, "'cx' is a name of @codex"),
        ("---\nagent: demo\naliases: cx\n---\nHi", 3, 10, "'cx' is a name of @codex"),
        ("---\nagent: demo\naliases: [B!]\n---\nHi", 3, 11, "aliases.0: must be a name"),
        ("---\nagent: demo\n---\n", 3, 4, "the body is empty"),
        ("Hello", 1, 1, "begin with ---"),
        ("---\nagent: demo\nHello", 1, 1, "has no end"),
        ("---\nagent: demo\n---\na\x00b", 4, 2, "NUL"),
    ],
)
def test_a_fault_says_where_it_is(text: str, line: int, column: int, words: str) -> None:
    finding = one(text)
    assert (finding.line, finding.column) == (line, column)
    assert words in finding.message


def test_a_pools_persona_is_asked_for_no_folder_of_this_machine_nor_where_no_pool_is_known() -> (
    None
):
    text = "---\nagent: demo\nworkers: gpu\nworkspace: /nowhere\n---\nHi"
    assert faults(text) == []
    assert one(text.replace("gpu", "gpus")).suggestion == "did you mean `gpu`?"
    [finding] = check_persona("ada", text, CheckContext(pools=())).findings
    assert finding.suggestion == "[workers.pools] in moot.toml names none"
    assert check_persona("ada", text, CheckContext()).findings == ()


def test_an_unknown_agent_is_told_with_those_that_are_known() -> None:
    finding = one("---\nagent: claude\n---\nHi")
    assert finding.suggestion.startswith("did you mean `claude-code`?")
    assert finding.suggestion.endswith("known: claude-code, codex, demo")


def test_somebody_elses_alias_is_no_name() -> None:
    assert "@codex has 'cx' as an alias" in one("---\nagent: demo\n---\nHi", "cx").message


@pytest.mark.parametrize("name", ["Ada", "../x", "/etc/x", "a" * 33, "", "1a", "a.b", "a\x00"])
def test_only_plain_names_are_names(name: str) -> None:
    checked = check_persona(name, "---\nagent: demo\n---\nHi", AROUND)
    assert checked.front is None
    assert "lower case" in checked.errors[0].message


def test_a_word_of_everyday_is_no_section_but_its_heading_is() -> None:
    head = "---\nagent: demo\n---\n"
    assert faults(head + "You recall a landmark, mind the pins and recommendations.") == []
    assert "'RECALL'" in one(head + "Use [recall — from memory] first.").message
    assert "'EPISODIC SUMMARY'" in one(head + "Read the episodic\nsummary.").message


def test_an_enormous_body_is_warned_of_where_it_becomes_too_long() -> None:
    finding = one("---\nagent: demo\n---\n" + "word \n" * LONG_BODY)
    assert finding.severity == "warning"
    assert f"{LONG_BODY:,}" in finding.suggestion


@pytest.mark.parametrize(
    "secret",
    [
        "xoxb-1234567890-abcdef",
        "ghp_" + "a1" * 18,
        "AKIA" + "ABCD1234" * 2,
        "-----BEGIN RSA PRIVATE KEY-----",
        "password: hunter2hunter2",
        "eyJ" + "a1" * 9 + ".eyJ" + "b2" * 20 + ".c3",
        "eyJ" + "a1" * 900 + ".eyJ" + "b2" * 20 + ".c3",
        "password: " + "x" * 250 + "1",
    ],
)
def test_what_looks_like_a_secret_is_warned_of_and_not_repeated(secret: str) -> None:
    finding = one(f"---\nagent: demo\n---\nUse {secret} for it.")
    assert finding.severity == "warning"
    assert secret not in str(finding)


def test_words_behind_the_name_of_a_secret_are_none() -> None:
    assert faults("---\nagent: demo\n---\nThe token: whatever they give you, 12 times.") == []


def test_a_bomb_of_brackets_is_a_fault_and_no_crash() -> None:
    for bomb in ("[" * 50_000, "[{a: " * 10_000, "[[]," * 10_000):
        assert "nested too deeply" in one(f"---\nagent: {bomb}\n---\nHi").message
    assert faults("---\nagent: demo\nsandbox: {mode: on}\naliases: [[[[cc]]]]\n---\nHi")


def test_windows_line_ends_and_a_byte_order_mark_move_nothing() -> None:
    finding = one("\ufeff---\r\nagent: demo\r\nmodle: x\r\n---\r\nHi")
    assert (finding.line, finding.column) == (3, 1)


@given(st.text(alphabet=string.printable + "é\u2028", max_size=200))
def test_any_text_is_checked_and_every_place_is_in_it(tail: str) -> None:
    for text in (tail, f"---\n{tail}\n---\nHi", f"---\nagent: demo\n---\n{tail}"):
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        for finding in check_persona("ada", text, AROUND).findings:
            assert 1 <= finding.line <= len(lines) + 1
            assert finding.column >= 1
            assert (finding.end_line, finding.end_column) >= (finding.line, finding.column)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_name_is_refused_in_a_sentence(name: str) -> None:
    checked = check_persona(name, "---\nagent: demo\n---\nHi\n")
    assert checked.front is None
    told = f"no persona can be called {name!r}: the name is reserved (take another one)"
    assert [str(found) for found in checked.errors] == [told]


@pytest.mark.parametrize("alias", sorted(RESERVED))
def test_a_reserved_alias_is_refused_in_a_sentence(alias: str) -> None:
    text = f"---\nagent: codex\naliases: [cx, {alias}]\n---\nHi\n"
    checked = check_persona("ada", text)
    assert checked.front is None
    (finding,) = checked.errors
    told = f"aliases: no persona can be called {alias!r}: the name is reserved (take another one)"
    assert (str(finding), finding.line, finding.column) == (told, 3, 15)


def test_the_demo_agent_may_have_the_name_of_moot_and_no_other_that_is_reserved() -> None:
    assert check_persona("demo", "---\nagent: demo\naliases: [moot]\n---\nHi\n").findings == ()
    assert check_persona("demo", "---\nagent: demo\naliases: [here]\n---\nHi\n").front is None
