"""How Gemini CLI is started and read, as data."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.agent import MemoryServer
from adapters.cli.permission import Dialogs
from adapters.cli_profile import Setting
from adapters.profiles.gemini import DIALOGS, GEMINI, PERSONA_FILE, harmless, settings_file
from adapters.records.gemini import from_hook, from_record, restored
from adapters.turn_events import (
    ContextCompacted,
    ReplyBlock,
    ReplyEnded,
    ReplyRetracted,
    ToolReport,
    ToolUsed,
)


def setting(**changes: Any) -> Setting:
    given_: dict[str, Any] = {
        "home": Path("/h"),
        "workspace": Path("/h/work"),
        "session_id": "1-2",
        "hook_url": "http://127.0.0.1:9/hook/k",
        "env": {"GEMINI_API_KEY": "k"},
    }
    return Setting(**given_ | changes)


HIGH_DEMAND = """\
╭──────────────────────────────────────────────╮
│ We are currently experiencing high demand.   │
│                                              │
│ ● 1. Keep trying                             │
│   2. Stop                                    │
╰──────────────────────────────────────────────╯"""
PERMISSION = """\
│ cat <<EOF                                    │
│   2. Stop                                    │
│ ● 1. Allow once                              │
│   2. Allow for this session                  │
│   3. No, suggest changes (esc)               │"""


async def test_what_it_asks_when_its_api_fails_is_stopped_and_nobody_is_asked() -> None:
    dialogs = Dialogs(GEMINI)
    assert dialogs.stand(HIGH_DEMAND, "turn")
    assert dialogs.keys(HIGH_DEMAND, "turn") == b"2"


async def test_a_command_s_words_are_no_answer_to_its_permission() -> None:
    dialogs = Dialogs(GEMINI)
    assert not dialogs.stand(PERMISSION, "turn")
    assert dialogs.keys(PERMISSION, "turn") == b""


# ── Start files ─────────────────────────────────────────────────────────────────────────


def test_what_an_administrator_set_is_kept() -> None:
    hook = {"hooks": [{"type": "command", "command": "true"}]}
    present = {
        "general": {"maxAttempts": 7, "vimMode": True},
        "context": {"fileName": "AGENTS.md"},
        "hooks": {"AfterAgent": [hook]},
        "mcpServers": {"other": {"command": "x"}},
    }
    settings = json.loads(settings_file(setting(), json.dumps(present)))
    assert settings["general"]["maxAttempts"] == 7
    assert settings["general"]["vimMode"] is True
    assert settings["context"]["fileName"] == ["AGENTS.md", PERSONA_FILE]
    assert settings["hooks"]["AfterAgent"][0] == hook
    assert len(settings["hooks"]["AfterAgent"]) == 2
    assert settings["mcpServers"] == {"other": {"command": "x"}}


def test_it_is_written_again_only_when_it_changes() -> None:
    once = settings_file(setting(), "")
    assert settings_file(setting(), once) == once


@pytest.mark.parametrize("present", ["{", "[]", "null", '{"ui": 3, "hooks": [], "context": 1}'])
def test_damaged_settings_are_begun_anew(present: str) -> None:
    settings = json.loads(settings_file(setting(), present))
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"


def test_a_login_is_not_replaced_where_no_key_is_given() -> None:
    present = json.dumps({"security": {"auth": {"selectedType": "oauth-personal"}}})
    settings = json.loads(settings_file(setting(env={}), present))
    assert settings["security"]["auth"]["selectedType"] == "oauth-personal"


def test_nobody_reads_the_hook_url_in_an_argv() -> None:
    settings = json.loads(settings_file(setting(), ""))
    command = shlex.split(settings["hooks"]["AfterAgent"][0]["hooks"][0]["command"])
    assert "/hook/" not in " ".join(command)
    assert command[-1] == "/h/.moot/hook_url"


def test_the_memory_server_is_there_for_one_session_alone() -> None:
    memory = MemoryServer(("moot", "mcp"), (("MOOT_KEY", "secret"),))
    with_it = settings_file(setting(memory=memory), "")
    server = json.loads(with_it)["mcpServers"]["moot"]
    assert (server["command"], server["args"], server["trust"]) == ("moot", ["mcp"], True)
    assert server["env"] == {"MOOT_KEY": "secret"}
    assert "moot" not in json.loads(settings_file(setting(), with_it))["mcpServers"]


# ── Typing ──────────────────────────────────────────────────────────────────────────────


@given(st.text(alphabet="@/!?# ab\n\u2060"))
def test_no_prompt_is_a_command(text: str) -> None:
    typed = harmless(text)
    assert typed.lstrip()[:1] not in ("!", "/", "?")
    assert all(after[:1] in ("", "\u2060") or after[0].isspace() for after in typed.split("@")[1:])
    assert harmless(typed) == typed


@pytest.mark.parametrize(
    ("box", "holds"),
    [
        (" >   Type your message or @path/to/file", False),
        (" > [Pasted Text: 6 lines]", True),
        (" > hello\n   more", True),
        (" > hello\n\n✦ hi\n\n >   Type your message", False),
    ],
)
def test_the_box_is_seen_to_hold_text(box: str, holds: bool) -> None:
    assert GEMINI.typing.holding
    assert bool(GEMINI.typing.holding.search(box)) == holds


# ── What it shows ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shown", "fault"),
    [
        ('✕ [API Error: {"error":{"code":401,"status":"UNAUTHENTICATED"}}]', "login"),
        ("✕ [API Error: API key not valid. Please pass a valid API key.]", "login"),
        (
            "✕ [API Error: The input token count (9) exceeds the maximum number of\n  tokens.]",
            "context",
        ),
        ("✕ [API Error: You exceeded your current\n  quota.]", "limit"),
        ('✕ [API Error: {"code":404,"status":"NOT_FOUND"}]', "api"),
    ],
)
def test_an_error_of_this_turn_is_known(shown: str, fault: str) -> None:
    screen = f" > [SESSION\n\n{shown}\n\n >   Type your message"
    known = [d.fault for d in DIALOGS if d.fault and d.pattern.search(screen)]
    assert known == [fault]
    later = f" > [SESSION\n\n{shown}\n\n > [SESSION\n\n✦ ok\n\n >   Type your message"
    assert not [d for d in DIALOGS if d.pattern.search(later)]


def test_a_request_refused_again_and_again_is_given_up() -> None:
    screen = "│ ● 1. Keep trying   │\n│   2. Stop   │"
    assert [d.keys for d in DIALOGS if d.pattern.search(screen)] == [b"2"]


# ── Its record and its hook ─────────────────────────────────────────────────────────────


def row(**changes: Any) -> dict[str, Any]:
    return {"id": "1", "type": "gemini", "content": "I look.", **changes}


def call(status: str, **changes: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"response": {"output": "hi"}}}]
    known = {"id": "c", "name": "run_shell_command", "args": {"command": "echo hi"}}
    return {**known, "displayName": "Shell", "status": status, "result": result, **changes}


def test_a_message_that_is_written_again_with_its_tools_is_said_once() -> None:
    events = [*from_record(row()), *from_record(row(toolCalls=[call("success")]))]
    assert events == [
        ReplyBlock("I look."),
        ToolUsed("Shell", "echo hi"),
        ToolReport("c", "Shell", '{"command": "echo hi"}', "hi"),
    ]


def test_a_turn_whose_tools_were_all_refused_is_over() -> None:
    assert ReplyEnded(interrupted=True) in from_record(row(toolCalls=[call("cancelled")]))
    mixed = row(toolCalls=[call("cancelled"), call("success")])
    assert ReplyEnded(interrupted=True) not in from_record(mixed)


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"type": "user", "content": [{"text": "x"}]},
        {"$set": {"messages": []}},
        row(content=[]),
        row(toolCalls=[3, {}]),
        row(toolCalls=[call("success", result="x", args=None)]),
    ],
)
def test_other_rows_are_read_without_harm(other: dict[str, Any]) -> None:
    assert not [event for event in from_record(other) if isinstance(event, ReplyBlock)]


def test_the_hook_ends_a_turn_and_mends_its_text() -> None:
    payload = {"hook_event_name": "AfterAgent", "prompt_response": "a\u200db <!-- x --> c d"}
    (ended,) = from_hook(payload)
    assert isinstance(ended, ReplyEnded)
    assert ended.recorded
    assert ended.restore("ab  c") == "a\u200db <!-- x --> c"
    assert ended.restore("something else") == "something else"
    assert from_hook({"hook_event_name": "BeforeAgent"}) == ()


def test_a_comment_without_an_end_is_a_text() -> None:
    assert restored("ab <!-- c", "a<!-- x -->b <!-- \u200bc") == "a<!-- x -->b <!-- \u200bc"


PIECES = st.lists(st.sampled_from(["a", "漢", " ", "\n", "\u200d", "\u200b", "<!-- c -->", "b"]))


@given(PIECES, PIECES, PIECES)
def test_what_was_left_out_is_put_back(
    before: list[str], said: list[str], after: list[str]
) -> None:
    left_out = ("\u200d", "\u200b", "<!-- c -->")
    whole = "".join(["x", *said, "y"])
    recorded = "".join(["x", *(piece for piece in said if piece not in left_out), "y"])
    heard = f"{''.join(before)}\n{whole} {''.join(after)} "
    assert restored(recorded, heard) == whole


def test_a_summary_in_place_of_the_conversation_is_a_compaction() -> None:
    def replaced(*texts: str) -> dict[str, Any]:
        messages = [{"type": "user", "content": [{"text": text}]} for text in texts]
        return {"$set": {"messages": messages}}

    context, summary = "<session_context>\nToday", "<state_snapshot>\nThey are friends."
    assert from_record(replaced(context, summary)) == (ContextCompacted(),)
    assert from_record(replaced(context)) == ()
    assert from_record({"$set": {"lastUpdated": "2026-11-22T08:35:57.786Z"}}) == ()


@pytest.mark.parametrize(
    ("content", "again"),
    [
        ([{"text": "[System: You previously returned an empty response.]"}], True),
        ([{"text": "[SESSION CONTEXT]\n[System: You are quoted.]"}], False),
        ([{"functionResponse": {"name": "run_shell_command"}}], False),
        ("[System: not as it writes them", False),
        ([], False),
        (None, False),
    ],
)
def test_a_prompt_of_its_own_shows_that_it_asks_again(content: object, again: bool) -> None:
    told = from_record({"type": "user", "content": content})
    assert told == ((ReplyRetracted(),) if again else ())
