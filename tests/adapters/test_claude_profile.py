"""How Claude Code is started and typed to, as data."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.cli.keyboard import BEGIN, END, keystrokes
from adapters.cli_profile import Setting
from adapters.profiles.claude_code import (
    CLAUDE_CODE,
    PASTE_BREAKS,
    harmless,
    pieces,
    settings_file,
    state_file,
)
from adapters.turn_signs import DialogRule

KEY = "sk-ant-0123456789-0123456789-0123456789"


def setting(**changes: Any) -> Setting:
    given_: dict[str, Any] = {
        "home": Path("/h"),
        "workspace": Path("/h/work"),
        "session_id": "1-2",
        "hook_url": "http://127.0.0.1:9/hook/k",
        "env": {"ANTHROPIC_API_KEY": KEY},
    }
    return Setting(**given_ | changes)


# ── Start files ─────────────────────────────────────────────────────────────────────────


def test_a_fresh_home_has_its_start_up_questions_answered() -> None:
    state = json.loads(state_file(setting(), ""))
    assert state["hasCompletedOnboarding"] is True
    assert state["customApiKeyResponses"] == {"approved": [KEY[-20:]], "rejected": []}
    assert state["projects"]["/h/work"]["hasTrustDialogAccepted"] is True


def test_what_it_wrote_itself_is_kept() -> None:
    present = {
        "userID": "x",
        "customApiKeyResponses": {"approved": ["other", KEY[-20:]], "rejected": ["bad"]},
        "projects": {"/h/work": {"lastCost": 3}, "/else": {"lastCost": 4}},
    }
    state = json.loads(state_file(setting(), json.dumps(present)))
    assert state["userID"] == "x"
    assert state["customApiKeyResponses"] == {
        "approved": ["other", KEY[-20:]],
        "rejected": ["bad"],
    }
    assert state["projects"]["/h/work"]["lastCost"] == 3
    assert state["projects"]["/else"] == {"lastCost": 4}


def test_it_is_written_again_only_when_it_changes() -> None:
    once = state_file(setting(), "")
    assert state_file(setting(), once) == once


@pytest.mark.parametrize("present", ["{", "[]", "null", '{"projects": 3}'])
def test_a_damaged_state_is_begun_anew(present: str) -> None:
    state = json.loads(state_file(setting(), present))
    assert state["projects"]["/h/work"]["hasTrustDialogAccepted"] is True


def test_without_a_key_none_is_approved() -> None:
    assert "customApiKeyResponses" not in json.loads(state_file(setting(env={}), ""))


def test_the_settings_hold_the_hooks_and_that_it_asks() -> None:
    settings = json.loads(settings_file(setting(), ""))
    assert set(settings["hooks"]) >= {"Stop", "StopFailure", "PermissionRequest"}
    hook = settings["hooks"]["Stop"][0]["hooks"][0]
    assert (hook["type"], hook["url"]) == ("http", "http://127.0.0.1:9/hook/k")
    assert hook["timeout"] >= 3600
    assert settings["permissions"]["defaultMode"] == "default"


def test_without_a_listener_there_are_no_hooks() -> None:
    assert json.loads(settings_file(setting(hook_url=""), ""))["hooks"] == {}


# ── Command and environment ─────────────────────────────────────────────────────────────


def test_a_session_begins_with_an_id_of_ours() -> None:
    assert CLAUDE_CODE.argv(setting()) == (
        *("claude", "--session-id", "1-2"),
        *("--settings", "/h/.moot/settings.json"),
        *("--append-system-prompt-file", "/h/.moot/persona.md"),
    )


def test_it_is_resumed_by_that_id_with_its_model() -> None:
    argv = CLAUDE_CODE.argv(setting(resumes=True, model="opus"), ("/opt/claude",))
    assert argv[:3] == ("/opt/claude", "--resume", "1-2")
    assert argv[-2:] == ("--model", "opus")


def test_nothing_that_people_wrote_is_in_argv_or_environment() -> None:
    given_ = setting(persona="You are Ash.")
    words = [
        *CLAUDE_CODE.argv(given_),
        *(given_.fill(value) for _, value in CLAUDE_CODE.environment.env),
    ]
    assert "Ash" not in " ".join(words)
    persona = {file.path: file for file in CLAUDE_CODE.environment.files}[".moot/persona.md"]
    assert persona.text(given_, "before") == "You are Ash."


# ── Typing ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("plain text", "plain text"),
        ("!rm -rf /", "> !rm -rf /"),
        ("  \n/clear", ">   \n/clear"),
        ("\u2060\u200b!ls", "> \u2060\u200b!ls"),
        ("#remember", "> #remember"),
        ("hello\n!ls\n/clear", "hello\n!ls\n/clear"),
        ("see @/etc/passwd now", "see @\u2060/etc/passwd now"),
        ("@~/.ssh/id_rsa x", "@\u2060~/.ssh/id_rsa x"),
        ("@../up x", "@\u2060../up x"),
        ('@"/a b" x', '@\u2060"/a b" x'),
        ("see @\u2060/etc/passwd x", "see @\u2060/etc/passwd x"),
        ("<@U06STGBF4Q0> and @bob, a@b/c", "<@U06STGBF4Q0> and @bob, a@b/c"),
        ("ask @bob", "ask @bob "),
        ("a\u202eb\u2066c", "abc"),
    ],
)
def test_what_it_would_take_as_a_command_is_made_harmless(text: str, typed: str) -> None:
    assert harmless(text) == typed


def test_an_image_is_never_named_in_one_paste() -> None:
    text = 'look:\n/tmp/a.png\n"/tmp/b.JPEG" /tmp/c.webp'
    found = pieces(text)
    assert "".join(found) == text
    assert not any(suffix in piece for piece in found for suffix in (".png", ".JPEG", ".webp"))


def test_a_short_prompt_is_one_paste() -> None:
    assert list(pieces("one\ntwo\nthree")) == ["one\ntwo\nthree"]
    assert list(pieces("")) == []


def test_a_grapheme_is_not_torn() -> None:
    family = "👩\u200d👩\u200d👧"
    assert {piece.replace(family, "") for piece in pieces(family * 300)} == {""}


@given(st.text(st.sampled_from("ab \n\t.png👩\u200d👧\u2028é!/"), max_size=3000))
def test_pieces_are_the_text_and_small_enough_to_arrive_as_they_are(text: str) -> None:
    found = pieces(text)
    assert "".join(found) == text
    for piece in found:
        assert sum(piece.count(end) for end in "\n\u2028\u2029") <= PASTE_BREAKS
        assert len(piece.encode("utf-16-le")) // 2 <= 800


@given(st.text(st.sampled_from("a !/#@\n\u2060.gif"), max_size=2000))
def test_no_paste_but_the_first_begins_with_a_command(text: str) -> None:
    for piece in pieces(text)[1:]:
        assert piece[0] not in "!/#@\u2060"


def test_a_text_without_a_place_to_cut_stays_whole() -> None:
    text = "x" + "!" * 2000
    assert list(pieces(text)) == [text]


@given(st.text(max_size=500))
def test_no_key_is_pressed_by_any_text(text: str) -> None:
    typed = keystrokes(text, CLAUDE_CODE.typing)
    inside = typed.replace(BEGIN, b"").replace(END, b"")
    assert not any((byte < 0x20 and byte != 0x0A) or byte == 0x7F for byte in inside)
    assert typed.count(BEGIN) == typed.count(END)
    assert not typed or (typed.startswith(BEGIN) and typed.endswith(END))


# ── Its screen ──────────────────────────────────────────────────────────────────────────

RULE = "─" * 60
READY = f" ▝▝   ▝▝   ~/ws\n\n{RULE}\n❯\xa0\n{RULE}\n  ? for shortcuts"
HELD = f"✻ Baked for 0s\n\n{RULE}\n❯ [SESSION]\n  hello\n{RULE}\n  ? for shortcuts\n"


def test_it_is_ready_when_its_box_stands_between_two_rules() -> None:
    prompt = CLAUDE_CODE.program.ready.prompt
    assert prompt
    assert prompt.search(READY)
    assert not prompt.search(" Do you trust it?\n ❯ 1. Yes\n   2. No\n Enter to confirm")
    assert not prompt.search(f"{RULE}\n❯ 1. Yes\n   2. No\n Enter to confirm")


def test_its_box_holds_a_text_that_was_not_sent() -> None:
    holding = CLAUDE_CODE.typing.holding
    assert holding
    assert holding.search(HELD)
    assert holding.search(f"x\n{RULE}\n❯ [Pasted text #1 +60 lines]\n{RULE}\n  footer")
    assert holding.search(f"  line 58\n  line 59\n{RULE}\n  paste again to expand")
    assert not holding.search(READY)
    assert not holding.search(f"● Pondering…\n\n  ◐ medium\n{RULE}\n❯\n{RULE}\n  esc to interrupt")


@pytest.mark.parametrize(
    ("title", "busy"),
    [("✳ A title", False), ("⠂ A title", True), ("◐ Claude Code", True), ("◑ x", True)],
)
def test_its_title_tells_whether_it_works(title: str, busy: bool) -> None:
    sign = CLAUDE_CODE.signs.title
    assert sign
    assert bool(sign.busy.search(title)) is busy
    assert bool(sign.idle.search(title)) is not busy


ASKED = """\
 Accessing workspace:

 Quick safety check: Is this a project you created or one you trust? (Like your own code)

 ❯ No, exit
   Yes, I trust this folder
"""


def dialogs_on(screen: str) -> list[DialogRule]:
    return [dialog for dialog in CLAUDE_CODE.shown.dialogs if dialog.pattern.search(screen)]


@pytest.mark.parametrize(
    ("screen", "keys", "fault"),
    [
        (ASKED, b"", "startup"),
        (f"{RULE}\n  New MCP server found in this project: x\n  ❯ 1. Use it\n", b"\x1b", None),
        (f"{RULE}\n  2 new MCP servers found in this project\n", b"\x1b", None),
        ("  ❯ 1. Fix with Claude\n    3. Continue without these settings\n", b"3", None),
        ("  Allow external CLAUDE.md file imports?\n  ❯ 1. Yes", b"\x1b", None),
        ("No conversation found with session ID: 1-2\n", b"", "startup"),
        (" Unable to connect to Anthropic services\n Failed", b"", "api"),
        ("  Login\n\n  Select login method:\n  ❯ 1. Claude account", b"", "login"),
    ],
)
def test_what_stands_in_the_way_of_a_start_is_known(
    screen: str, keys: bytes, fault: str | None
) -> None:
    (dialog,) = dialogs_on(screen)
    assert (dialog.keys, dialog.fault) == (keys, fault)


def test_a_conversation_on_such_things_is_none_of_them() -> None:
    words = "\n".join(
        f"  {line}"
        for line in (
            *ASKED.splitlines(),
            "New MCP server found in this project",
            "3. Continue without these settings",
            "No conversation found with session ID: 1-2",
            "Unable to connect to Anthropic services",
            "Select login method:",
            "Resume full session as-is",
            RULE,
            "❯ x",
            RULE,
        )
    )
    assert dialogs_on(f"❯ [SESSION CONTEXT]\n{words}\n\n{READY}") == []
