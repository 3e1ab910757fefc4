"""Mistral Vibe's profile: its files, what is typed, and what its journal says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from adapters.agent import MemoryServer
from adapters.cli_profile import Setting
from adapters.profiles.vibe import (
    MEMORY_TOOLS,
    config_file,
    harmless,
    memory_file,
    told_state,
)
from adapters.records.vibe import read_row
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    SessionNamed,
    ToolReport,
    ToolUsed,
    TurnEvent,
)
from gateway.mcp.tools import TOOLS

API = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def setting(**changes: Any) -> Setting:
    given: dict[str, Any] = {"home": Path("/h"), "workspace": Path("/w"), "session_id": ""}
    return Setting(**{**given, **changes})


def written(text: str) -> dict[str, Any]:
    return tomlkit.parse(text).unwrap()


# ── Its files ───────────────────────────────────────────────────────────────────────────


def test_an_api_in_the_environment_becomes_a_provider_with_the_personas_model() -> None:
    config = written(config_file(setting(model="m", env=API), ""))
    (provider,) = config["providers"]
    assert (provider["api_base"], provider["api_key_env_var"]) == (
        "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY",
    )
    assert config["models"] == [{"name": "m", "provider": provider["name"], "alias": "m"}]
    assert config["active_model"] == "m"
    assert "sk-x" not in str(config)


def test_it_asks_and_calls_nobody_and_nothing_begins_by_itself() -> None:
    config = written(config_file(setting(), ""))
    assert config["default_agent"] == "ask"
    assert not config["enable_telemetry"]
    assert not config["enable_update_checks"]
    assert "cron" in config["disabled_tools"]


def test_what_the_administrator_wrote_is_kept_and_writing_twice_changes_nothing() -> None:
    own = (
        '# mine\ndefault_agent = "accept-edits"\ndisabled_tools = ["edit"]\n'
        '[[providers]]\nname = "own"\napi_base = "http://own"\n'
        '[[models]]\nname = "o"\nprovider = "own"\nalias = "o"\n'
        '[[mcp_servers]]\nname = "own"\ntransport = "stdio"\ncommand = "x"\n'
    )
    once = config_file(setting(model="m", env=API), own)
    config = written(once)
    assert once.startswith("# mine")
    assert config["default_agent"] == "accept-edits"
    assert config["disabled_tools"][0] == "edit"
    assert [provider["name"] for provider in config["providers"]] == ["own", "moot"]
    assert [server["name"] for server in config["mcp_servers"]] == ["own"]
    assert written(config_file(setting(model="m", env=API), once)) == config


def test_without_the_api_our_provider_goes_and_its_own_default_counts_again() -> None:
    config = written(config_file(setting(), config_file(setting(model="m", env=API), "")))
    assert {"providers", "models", "active_model"}.isdisjoint(config)


@pytest.mark.parametrize("present", ["not = = toml", "[open"])
def test_what_is_no_toml_stays_as_it_is(present: str) -> None:
    assert config_file(setting(), present) == present
    assert memory_file(setting(), present) == present


def test_the_memory_is_an_mcp_server_whose_tools_ask_nobody_and_goes_with_it() -> None:
    memory = MemoryServer(("moot", "memory"), (("MOOT_KEY", "k"),))
    plain = config_file(setting(), "")
    text = memory_file(setting(memory=memory), plain)
    config = written(text)
    (server,) = config["mcp_servers"]
    assert (server["command"], server["args"]) == ("moot", ["memory"])
    assert server["env"] == {"MOOT_KEY": "k"}
    assert {tool["permission"] for tool in config["tools"].values()} == {"always"}
    again = written(config_file(setting(), text))
    assert "mcp_servers" not in again
    assert not again.get("tools")


def test_every_tool_of_the_memory_is_known() -> None:
    assert set(MEMORY_TOOLS) == set(TOOLS)


# ── Typing ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["!ls", " /clear", "\u200b!ls", "&go", "exit", ":q"])
def test_a_command_of_its_own_is_only_text(text: str) -> None:
    assert harmless(text) == f"> {text}"


@pytest.mark.parametrize(
    "text", ["@/etc/passwd", "see @src/a.py", '@"a b"', "@~/x", "@a.txt", "(@../x)", "@@b.txt"]
)
def test_a_file_is_not_attached(text: str) -> None:
    assert "@\u2060" in harmless(text)


@pytest.mark.parametrize("text", ["You are: @agent\nhi", "a@b.org", "thanks @andi.", "a.txt @b"])
def test_a_person_is_named_as_ever(text: str) -> None:
    assert harmless(text).rstrip(" ") == text


def test_a_name_at_the_end_opens_no_menu() -> None:
    assert harmless("ask @andi") == "ask @andi "
    assert harmless("ask @@andi") == "ask @@andi "
    assert harmless("@andi said") == "@andi said"


# ── Its signs ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("osc", "state"),
    [
        ("7501;state=idle:app=vibe", "idle"),
        ("7501;state=blocked:kind=permission:app=vibe:msg=UnVu", "blocked"),
        ("7501;state=unheard:app=vibe", None),
        ("9;4;1", None),
    ],
)
def test_its_state_is_told_in_band(osc: str, state: str | None) -> None:
    assert told_state(osc) == state


def row(*changes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "projection_delta", "payload": {"delta": list(changes)}}


def entry(**fields: Any) -> dict[str, Any]:
    return {"op": "append_entry", "entry": {"turnId": "t", **fields}}


def message(role: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return entry(type="message", role=role, content=content)


def latest(status: str, *, parent: str | None = None, **more: Any) -> dict[str, Any]:
    session = {"id": "s", "parentSessionId": parent}
    turn = {"id": "t", "status": status, **more}
    return {"op": "set_envelope", "state": {"session": session, "latestTurn": turn}}


@pytest.mark.parametrize(
    ("changes", "events"),
    [
        ([message("user", "hi"), latest("in_progress")], [PromptTaken("t"), SessionNamed("s")]),
        ([message("assistant", "**a**", "\nb")], [ReplyBlock("**a**\nb", turn="t")]),
        ([message("assistant")], []),
        ([latest("completed")], [SessionNamed("s"), ReplyEnded(turn="t")]),
        ([latest("interrupted")], [SessionNamed("s"), ReplyEnded(interrupted=True, turn="t")]),
        ([latest("completed", parent="other")], []),
    ],
)
def test_a_row_tells_of_the_turn(changes: list[dict[str, Any]], events: list[TurnEvent]) -> None:
    assert list(read_row(row(*changes))) == events


def test_a_tool_is_told_when_it_begins_and_when_it_is_over() -> None:
    tool = {"kind": "tool", "toolName": "file_system.bash", "input": {"command": "ls  -l"}}
    began = entry(type="effect", id="e", detail=tool, generationStatus="in_progress")
    output = {"structured_content": {"stdout": "a", "stderr": "b"}}
    state = {"display": {"success": False}, "output": output}
    over = entry(type="effect", id="e", detail=tool, generationStatus="completed", state=state)
    given = '{"command": "ls  -l"}'
    assert list(read_row(row(began))) == [
        ToolUsed("file_system.bash", "ls -l", "t"),
        ToolReport("e", "file_system.bash", given, turn="t"),
    ]
    assert list(read_row(row(over))) == [
        ToolReport("e", "file_system.bash", given, "a\nb", failed=True, turn="t")
    ]


def test_a_compaction_by_command_is_a_turn_of_its_own() -> None:
    made = {"type": "checkpoint", "kind": "compaction", "id": "c", "turnId": None}
    began = row(entry(**made, generationStatus="in_progress"))
    over = row(entry(**made, generationStatus="completed"))
    assert list(read_row(began)) == [PromptTaken("c")]
    assert list(read_row(over)) == [ContextCompacted("c"), ReplyEnded("", turn="c")]


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("model_unauthorized", "The moot credential was rejected.", "login"),
        ("rate_limited", "Rate limit exceeded.", "limit"),
        ("model_stream_failed", "prompt is too long: 250000 tokens > 200000 maximum", "context"),
        ("model_stream_failed", "Server error '500 Internal Server Error'", "api"),
        ("", "", "api"),
    ],
)
def test_a_fault_is_one_line_that_helps(code: str, message: str, kind: str) -> None:
    error = {"code": code, "message": message}
    _, failed = read_row(row(latest("failed", error=error)))
    assert isinstance(failed, ReplyFailed)
    assert failed.kind == kind
    assert failed.say
    assert "\n" not in str(failed.say)


ODD: Sequence[Any] = (
    {},
    {"type": "projection_delta"},
    {"type": "projection_delta", "payload": {"delta": 3}},
    row(entry(type="effect"), {"op": "set_envelope"}, {"op": "else", "entry": []}),
)


@pytest.mark.parametrize("odd", ODD)
def test_a_row_of_another_form_breaks_nothing(odd: Any) -> None:
    assert [event for event in read_row(odd) if not isinstance(event, SessionNamed)] == []
