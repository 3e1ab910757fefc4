"""How Qwen Code is started and read, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import MemoryServer
from adapters.cli_profile import Setting
from adapters.profiles.qwen import HOOKED, QWEN, settings_file
from adapters.records.qwen import from_hook, from_record
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    ToolReport,
    ToolUsed,
)


def setting(**changes: Any) -> Setting:
    given: dict[str, Any] = {
        "home": Path("/h"),
        "workspace": Path("/h/work"),
        "session_id": "1-2",
        "hook_url": "http://127.0.0.1:9/hook/k",
        "env": {"OPENAI_API_KEY": "k"},
    }
    return Setting(**given | changes)


def test_what_an_administrator_set_is_kept() -> None:
    hook = {"hooks": [{"type": "command", "command": "true"}]}
    present = {
        "tools": {"approvalMode": "plan"},
        "model": {"generationConfig": {"maxRetries": 5}},
        "hooks": {"Stop": [hook]},
    }
    settings = json.loads(settings_file(setting(), json.dumps(present)))
    assert settings["tools"]["approvalMode"] == "plan"
    assert settings["model"]["generationConfig"]["maxRetries"] == 5
    assert settings["hooks"]["Stop"][0] == hook
    assert set(settings["hooks"]) == set(HOOKED)


def test_it_asks_before_it_acts() -> None:
    assert json.loads(settings_file(setting(), ""))["tools"]["approvalMode"] == "default"


def test_it_is_written_again_only_when_it_changes() -> None:
    once = settings_file(setting(), "")
    assert settings_file(setting(), once) == once


@pytest.mark.parametrize("present", ["{", "[]", "null", '{"ui": 3, "hooks": [], "model": 1}'])
def test_damaged_settings_are_begun_anew(present: str) -> None:
    settings = json.loads(settings_file(setting(), present))
    assert settings["security"]["auth"]["selectedType"] == "openai"


def test_the_memory_server_is_there_for_one_session_alone() -> None:
    with_it = settings_file(setting(memory=MemoryServer(("moot", "mcp"), ())), "")
    assert json.loads(with_it)["mcpServers"]["moot"]["trust"] is True
    assert "moot" not in json.loads(settings_file(setting(), with_it))["mcpServers"]


def test_the_title_tells_when_it_works() -> None:
    title = QWEN.signs.title
    assert title
    for busy in ("◐ Qwen - work", "✳︎ Qwen - work"):
        assert title.busy.search(busy)
        assert not title.idle.search(busy)
    assert title.idle.search("Qwen - work")


@pytest.mark.parametrize(
    ("error", "details", "kind"),
    [
        ("rate_limit", "429 slow down", "limit"),
        ("authentication_failed", "401 bad key", "login"),
        ("billing_error", "quota", "limit"),
        ("invalid_request", "400 prompt is too long: 9 > 8", "context"),
        ("server_error", "500", "api"),
        ("something new", "", "api"),
    ],
)
def test_a_failure_says_what_to_do(error: str, details: str, kind: str) -> None:
    payload = {"hook_event_name": "StopFailure", "error": error, "error_details": details}
    (failed,) = from_hook(payload)
    assert isinstance(failed, ReplyFailed)
    assert failed.kind == kind
    assert failed.say
    assert "\n" not in str(failed.say)


def test_hooks_tell_of_the_turn_but_not_of_helpers() -> None:
    assert from_hook({"hook_event_name": "UserPromptSubmit"}) == (PromptTaken(),)
    stop = {"hook_event_name": "Stop", "last_assistant_message": "b"}
    assert from_hook(stop) == (ReplyEnded("b", whole=False),)
    assert from_hook({**stop, "agent_id": "x"}) == ()
    assert from_hook({"hook_event_name": "PreCompact"}) == (ContextCompacted(),)


def test_the_record_tells_what_was_said_and_done() -> None:
    parts = [
        {"text": "hm", "thought": True},
        {"text": "I look."},
        {"functionCall": {"id": "c", "name": "glob", "args": {"pattern": "*"}}},
    ]
    assert from_record({"type": "assistant", "message": {"parts": parts}}) == [
        ReplyBlock("I look."),
        ToolUsed("glob", "*"),
        ToolReport("c", "glob", '{"pattern": "*"}'),
    ]
    gave = {"functionResponse": {"id": "c", "name": "glob", "response": {"error": "no"}}}
    assert from_record({"type": "tool_result", "message": {"parts": [gave]}}) == [
        ToolReport("c", "glob", result="no", failed=True)
    ]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"type": "system", "systemPayload": {}},
        {"type": "assistant", "message": {"parts": None}},
        {"type": "assistant", "isSidechain": True, "message": {"parts": [{"text": "x"}]}},
        {"type": "assistant", "message": {"parts": [{"functionCall": 3}, 4]}},
    ],
)
def test_other_rows_are_nothing(row: dict[str, Any]) -> None:
    assert list(from_record(row)) == []
