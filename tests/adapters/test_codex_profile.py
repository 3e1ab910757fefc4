"""Codex's profile: the files that it writes, and what its rollout and its terminal say."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import MemoryServer
from adapters.cli_profile import Setting
from adapters.profiles.codex import (
    CODEX,
    FROM_NOW_ON,
    agents_file,
    config_file,
    harmless,
    memory_file,
    read_state,
)
from adapters.records.codex import from_record
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    SessionNamed,
    ToolReport,
    ToolUsed,
)

MEMORY = MemoryServer(("/bin/moot", "mcp"), (("MOOT_KEY", "secret"),))


def setting(**env: str) -> Setting:
    return Setting(Path("/h"), Path("/w"), "s1", persona="Be Ash.", env=env)


def config(present: str = "", **env: str) -> dict[str, Any]:
    return tomllib.loads(config_file(setting(**env), present))


def row(kind: str, **payload: Any) -> Mapping[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, "turn_id": "t1", **payload}}


def item(**item: Any) -> Mapping[str, Any]:
    return row("item_completed", item=item)


def call(**payload: Any) -> Mapping[str, Any]:
    return {"type": "response_item", "payload": payload}


# ── Files ───────────────────────────────────────────────────────────────────────────────


def test_a_new_home_is_closed_by_default() -> None:
    written = config()
    assert (written["approval_policy"], written["sandbox_mode"]) == ("on-request", "read-only")
    assert written["projects"] == {"/w": {"trust_level": "untrusted"}}
    assert written["shell_environment_policy"] == {"ignore_default_excludes": False}
    assert "model_provider" not in written


def test_what_an_administrator_set_is_kept() -> None:
    present = """# ours
approval_policy = "never"
sandbox_mode = "workspace-write"
model_provider = "azure"
[model_providers.azure]
base_url = "https://example.com"
[projects."/w"]
trust_level = "trusted"
[features]
apps = true
"""
    written = config(present, OPENAI_API_KEY="k")
    assert (written["approval_policy"], written["sandbox_mode"]) == ("never", "workspace-write")
    assert (written["model_provider"], [*written["model_providers"]]) == ("azure", ["azure"])
    assert written["projects"]["/w"] == {"trust_level": "trusted"}
    assert written["features"]["apps"] is True
    assert config_file(setting(), present).startswith("# ours\n")


def test_a_permission_profile_is_not_switched_off() -> None:
    assert "sandbox_mode" not in config('default_permissions = ":read-only"')


def test_a_key_in_the_environment_needs_no_login_and_is_in_no_file() -> None:
    text = config_file(setting(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://api/v1"), "")
    written = tomllib.loads(text)
    provider = written["model_providers"]["moot"]
    assert (written["model_provider"], provider["base_url"]) == ("moot", "http://api/v1")
    assert provider["name"] != "OpenAI"  # whose compaction no other API knows
    assert (provider["env_key"], "sk-1" in text) == ("OPENAI_API_KEY", False)


def test_without_the_key_its_own_provider_is_back() -> None:
    before = config_file(setting(OPENAI_API_KEY="sk-1"), "")
    assert not {"model_provider", "model_providers"} & config(before).keys()


def test_writing_twice_changes_nothing() -> None:
    once = config_file(setting(OPENAI_API_KEY="k"), "[mcp_servers.docs]\ncommand = 'docs'\n")
    assert config_file(setting(OPENAI_API_KEY="k"), once) == once


def test_what_is_no_toml_is_left_for_codex_to_complain_of() -> None:
    assert config_file(setting(), "model = ") == "model = "
    assert memory_file(setting(), "model = ") == "model = "


def test_a_session_keeps_its_instructions_and_is_told_todays_beside_them() -> None:
    begun = config_file(setting(), "")
    other = Setting(Path("/h"), Path("/w"), "s1", resumes=True, persona="Be Elm.")
    assert tomllib.loads(config_file(other, begun))["developer_instructions"] == "Be Ash."
    assert agents_file(setting(), "") == ""
    assert agents_file(other, "") == f"{FROM_NOW_ON}Be Elm."


def test_the_memory_has_a_server_whose_key_is_in_no_file() -> None:
    told = Setting(Path("/h"), Path("/w"), "s1", memory=MEMORY)
    text = memory_file(told, config_file(told, ""))
    server = tomllib.loads(text)["mcp_servers"]["moot"]
    assert (server["command"], server["args"]) == ("/bin/moot", ["mcp"])
    assert (server["env_vars"], "secret" in text) == (["MOOT_KEY"], False)
    assert "mcp_servers" not in config(text)


# ── Typing and signs ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("typed", "arrives"),
    [
        ("!ls", "> !ls"),
        (" /clear", ">  /clear"),
        ("see @file", "see @file "),
        ("see\n$skill", "see\n$skill "),
        ("a@b.c", "a@b.c"),
        ("@file is\n!fine", "@file is\n!fine"),
    ],
)
def test_what_would_be_a_command_is_none(typed: str, arrives: str) -> None:
    assert harmless(typed) == arrives


def test_its_state_is_told_in_band() -> None:
    assert read_state("7501;state=blocked:app=codex:kind=permission") == "blocked"
    assert read_state("7501;state=asleep") is None
    assert read_state("9;state=done") is None


@pytest.mark.parametrize(
    ("screen", "holds"),
    [
        ("› Ask Codex to do anything\n", False),
        ("› [Pasted Content 3000 chars]\n", True),
        ("› \n", False),
        ("› 1. Yes, proceed (y)\n", False),
    ],
)
def test_its_box_holds_the_text_or_not(screen: str, holds: bool) -> None:
    assert CODEX.typing.holding
    assert bool(CODEX.typing.holding.search(screen)) == holds


# ── The rollout ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ({"type": "session_meta", "payload": {"id": "s1"}}, (SessionNamed("s1"),)),
        (row("task_started"), (PromptTaken("t1"),)),
        (
            row("task_complete", last_agent_message="Hi."),
            (ReplyEnded("Hi.", whole=False, turn="t1"),),
        ),
        (row("turn_aborted", reason="interrupted"), (ReplyEnded(interrupted=True, turn="t1"),)),
        (row("token_count"), ()),
        ({"type": "compacted", "payload": {"message": ""}}, (ContextCompacted(),)),
        (
            item(type="AgentMessage", content=[{"type": "Text", "text": "Hi."}]),
            (ReplyBlock("Hi.", turn="t1"),),
        ),
        (
            item(
                type="CommandExecution",
                id="c1",
                command=["/bin/bash", "-lc", "ls"],
                aggregated_output="no\n",
                exit_code=2,
                status="completed",
            ),
            (ToolReport("c1", "exec_command", "ls", "no\n", True, "t1", 2),),
        ),
        (
            item(type="FileChange", id="c1", changes={"/w/a": {}}, status="completed", stdout="ok"),
            (ToolReport("c1", "apply_patch", '{"/w/a": {}}', "ok", False, "t1"),),
        ),
        (
            item(type="McpToolCall", id="c1", server="moot", tool="see", arguments={}, result="é"),
            (ToolReport("c1", "moot.see", "{}", '"é"', False, "t1"),),
        ),
        (
            call(type="function_call", name="exec_command", arguments='{"cmd": "ls  -l"}'),
            (ToolUsed("exec_command", "ls -l"),),
        ),
        (call(type="function_call", name="write_stdin", arguments="{}"), ()),
        (call(type="function_call", name="view", arguments="not JSON"), (ToolUsed("view"),)),
        (
            call(type="custom_tool_call", name="apply_patch", input="*** Add File: a b\n+x"),
            (ToolUsed("apply_patch", "a b"),),
        ),
        (call(type="message", role="assistant", content=[]), ()),
        ({"type": "event_msg", "payload": None}, ()),
        ({}, ()),
    ],
)
def test_a_row_of_the_rollout_is_its_events(line: Mapping[str, Any], events: object) -> None:
    assert tuple(from_record(line)) == events


def failed(message: str, info: object = "other") -> ReplyFailed:
    error = {"message": message, "codex_error_info": info}
    (event,) = from_record(row("task_complete", last_agent_message=None, error=error))
    assert isinstance(event, ReplyFailed)
    return event


@pytest.mark.parametrize(
    ("message", "info", "kind"),
    [
        ("unexpected status 401 Unauthorized", {"http": {"http_status_code": 401}}, "login"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "other", "limit"),
        ("Quota exceeded.", "usage_limit_exceeded", "limit"),
        ("ran out of room", "context_window_exceeded", "context"),
        ('{"error": {"code": "context_length_exceeded"}}', "other", "context"),
        ("high demand", "internal_server_error", "api"),
        ("unexpected status 404 Not Found", {"http": None}, "api"),
        ("", None, "api"),
    ],
)
def test_an_error_has_a_kind_and_a_line(message: str, info: object, kind: str) -> None:
    failure = failed(message, info)
    assert (failure.kind, failure.turn) == (kind, "t1")
    assert failure.say
    assert "\n" not in str(failure.say)


def test_what_an_error_says_is_for_people() -> None:
    told = failed('{"error": {"message": "No such\\nmodel.", "code": null}}')
    assert str(told.say) == "Codex: No such model. Ask again; if that fails too, say `!new`."
    where = failed("unexpected status 529: Overloaded, url: http://a/b, request id: 12-3")
    assert str(where.say) == "Codex: unexpected status 529: Overloaded. Ask again in a moment."
