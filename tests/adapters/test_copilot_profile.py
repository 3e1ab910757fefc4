"""Copilot's profile: its settings, its record's rows, what is typed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.agent import MemoryServer
from adapters.cli_profile import Setting
from adapters.profiles.copilot import (
    COPILOT,
    PLAIN,
    harmless,
    mcp_file,
    offline,
    settings_file,
    state_file,
)
from adapters.records.copilot import from_record
from adapters.turn_events import (
    ContextCompacted,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    ToolReport,
    ToolUsed,
    TurnEvent,
)


def setting(**changes: Any) -> Setting:
    return Setting(Path("/home/x"), Path("/srv/x"), "", **changes)


def events(kind: str, **data: Any) -> list[TurnEvent]:
    return [*from_record({"type": kind, "data": data})]


def test_a_prompt_begins_and_a_message_without_calls_ends() -> None:
    assert events("user.message", messageId="m1", content="x") == [PromptTaken("m1")]
    told: dict[str, Any] = {"originatingMessageId": "m1", "content": "Hello.", "toolRequests": []}
    assert events("assistant.message", **told) == [
        ReplyBlock("Hello.", turn="m1"),
        ReplyEnded(turn="m1"),
    ]
    told["toolRequests"] = [{"name": "bash"}]
    assert events("assistant.message", **told) == [ReplyBlock("Hello.", turn="m1")]


def test_an_older_prompt_has_its_row_s_id() -> None:
    row = {"type": "user.message", "id": "r1", "data": {"content": "x"}}
    assert [*from_record(row)] == [PromptTaken("r1")]


def test_a_tool_is_told_with_its_result() -> None:
    given = {"command": "ls"}
    started = events("tool.execution_start", toolCallId="c1", toolName="bash", arguments=given)
    assert started == [ToolUsed("bash", "ls"), ToolReport("c1", "bash", '{"command": "ls"}')]
    done = events("tool.execution_complete", toolCallId="c1", success=True, result={"content": "a"})
    assert done == [ToolReport("c1", result="a")]
    refused = {"toolCallId": "c1", "success": False, "error": {"message": "refused"}}
    assert events("tool.execution_complete", **refused) == [
        ToolReport("c1", result="refused", failed=True)
    ]


def test_an_abort_is_an_end_and_a_compaction_is_told() -> None:
    assert events("abort", reason="user_initiated") == [ReplyEnded(interrupted=True)]
    assert events("session.compaction_start", trigger="context_limit_retry") == [ContextCompacted()]
    done = {"trigger": "context_limit_retry", "success": True}
    assert events("session.compaction_complete", **done) == []


def test_its_command_compacts_in_a_turn_of_its_own() -> None:
    of = {"trigger": "manual", "compactionAttemptId": "a1"}
    assert events("session.compaction_start", conversationTokens=9, **of) == [PromptTaken("a1")]
    assert events("session.compaction_start", conversationTokens=0, **of) == []
    kind = "session.compaction_complete"
    assert events(kind, success=True, **of) == [ContextCompacted("a1"), ReplyEnded(turn="a1")]
    assert events(kind, success=False, outcome="not_applicable", **of) == []
    (failed,) = events(kind, success=False, error="no model", **of)
    assert isinstance(failed, ReplyFailed)
    assert (failed.turn, "no model" in str(failed.say)) == ("a1", True)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"errorType": "authentication", "statusCode": 401}, "login"),
        ({"errorType": "rate_limit", "statusCode": 429}, "limit"),
        ({"errorType": "query", "message": "retried Last error: 429 Slow down"}, "limit"),
        ({"errorType": "context_limit", "statusCode": 400}, "context"),
        ({"errorType": "query", "message": "Last error: 400 prompt is too long"}, "context"),
        ({"errorType": "query", "statusCode": 500}, "api"),
    ],
)
def test_an_error_is_one_line_with_its_remedy(data: Mapping[str, Any], kind: str) -> None:
    (failed,) = events("session.error", originatingMessageId="m1", **data)
    assert isinstance(failed, ReplyFailed)
    assert (failed.kind, failed.turn) == (kind, "m1")
    assert failed.say
    assert "\n" not in str(failed.say)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"type": "assistant.message", "data": None},
        {"type": "assistant.message", "agentId": "a", "data": {"content": "x"}},
        {"type": "assistant.message", "data": {"content": "x", "parentToolCallId": "c1"}},
    ],
)
def test_rows_of_nobody_or_of_a_subagent_are_passed_over(row: Mapping[str, Any]) -> None:
    assert from_record(row) == ()


def test_its_workspace_is_trusted_and_what_it_wrote_is_kept() -> None:
    once = state_file(setting(), '// managed\n{"a": "https://x//y", "trustedFolders": ["/o"]}')
    assert json.loads(once) == {"a": "https://x//y", "trustedFolders": ["/o", "/srv/x"]}
    assert state_file(setting(), once) == once
    assert state_file(setting(), f"\n // managed\n\n  // so\n{once}") == once
    assert json.loads(state_file(setting(), "no json")) == {"trustedFolders": ["/srv/x"]}


def test_settings_of_an_administrator_are_kept() -> None:
    given = '{"model": "m", "memory": true, "renderMarkdown": true}'
    kept = json.loads(settings_file(setting(), given))
    assert kept == PLAIN | {
        "model": "m",
        "memory": False,
        "banner": "never",
        "renderMarkdown": True,
    }


def test_it_is_offline_only_with_an_api_of_its_own() -> None:
    assert offline({"GH_TOKEN": "x"}) == {}
    assert offline({"COPILOT_PROVIDER_BASE_URL": "u"}) == {"COPILOT_OFFLINE": "true"}
    env = {"COPILOT_PROVIDER_BASE_URL": "u", "COPILOT_OFFLINE": "false"}
    assert offline(env) == {"COPILOT_OFFLINE": "false"}


def test_the_memory_is_one_of_its_servers() -> None:
    memory = MemoryServer(("/bin/moot", "mcp"), (("KEY", "x"),))
    (server,) = json.loads(mcp_file(setting(memory=memory), ""))["mcpServers"].values()
    assert (server["command"], server["args"], server["env"]) == (
        "/bin/moot",
        ["mcp"],
        {"KEY": "x"},
    )
    assert json.loads(mcp_file(setting(), "")) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("!ls", "> !ls"),
        ("/clear", "> /clear"),
        ("ask @bob", "ask @bob "),
        ("see @a/b.txt now", "see @\u2060a/b.txt now"),
        ("mail a@b.c now", "mail a@b.c now"),
    ],
)
def test_no_text_is_a_command(text: str, typed: str) -> None:
    assert harmless(text) == typed


@pytest.mark.parametrize(
    ("piece", "asks"),
    [
        ("Info: Request failed due to a transient API error. Retrying...", True),
        (
            "Warning: Removed 1 attachment from an oversized request before retrying. "
            "The model did not receive it. Try smaller or fewer attachments.",
            True,
        ),
        ("Warning: Removed 1 attachment from a page before retrying.\n\nAs you asked.", False),
        ("Warning: it is hot.", False),
    ],
)
def test_a_report_that_it_asks_again_is_none_of_its_words(piece: str, asks: bool) -> None:
    assert COPILOT.acp.again
    assert bool(COPILOT.acp.again.fullmatch(piece)) == asks
