"""Recorded turns of Claude Code 2.1.197, and rows as 2.1.330 writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.cli.turn import Source, TurnState
from adapters.profiles.claude_code import CLAUDE_CODE
from adapters.records.claude import from_hook, from_record
from adapters.turn_events import (
    HookQuestion,
    PromptTaken,
    ReplyBlock,
    ReplyEnded,
    ReplyFailed,
    ToolUsed,
)

RECORDED = Path(__file__).parent / "claude"
SCENARIOS = sorted(folder.name for folder in RECORDED.iterdir())
FAILING = {"err401", "err429", "nokey-login"}
OVER_S = 60.0


def rows(scenario: str) -> list[tuple[float, Source, dict[str, Any]]]:
    """What hooks and transcript said, in the order in which it arrived."""
    kinds: tuple[tuple[str, Source, str], ...] = (
        ("hooks", "hook", "payload"),
        ("transcript", "record", "line"),
    )
    found: list[tuple[float, Source, dict[str, Any]]] = []
    for name, source, key in kinds:
        text = (RECORDED / scenario / f"{name}.jsonl").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        found += [(line["t"], source, line[key]) for line in lines]
    return sorted(found, key=lambda row: row[0])


def played(scenario: str) -> TurnState:
    """The turn after everything that was recorded of it."""
    turn = TurnState(CLAUDE_CODE.signs)
    for at, source, row in rows(scenario):
        for event in from_hook(row) if source == "hook" else from_record(row):
            turn.note(event, source, at)
    return turn


def expected(scenario: str) -> str:
    return (RECORDED / scenario / "expected.md").read_text(encoding="utf-8")


def assistant(*blocks: dict[str, Any], stop: str = "end_turn", **row: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(blocks), "stop_reason": stop}
    return {"type": "assistant", "message": message, "isSidechain": False, **row}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answered(*transcript: dict[str, Any], last: str, streamed: str = "") -> str:
    """The answer of a turn whose hook gave only the last block."""
    turn = TurnState(CLAUDE_CODE.signs)
    for event in from_hook({"hook_event_name": "MessageDisplay", "delta": streamed}):
        turn.note(event, "hook", 0.0)
    for row in transcript:
        for event in from_record(row):
            turn.note(event, "record", 0.0)
    hook = {"hook_event_name": "Stop", "last_assistant_message": last}
    for event in from_hook(hook):
        turn.note(event, "hook", 1.0)
    return turn.text()


@pytest.mark.parametrize(
    "scenario", [s for s in SCENARIOS if s not in FAILING | {"interrupt", "toolbash-deny"}]
)
def test_a_recorded_turn_ends_with_the_exact_reply(scenario: str) -> None:
    turn = played(scenario)
    assert turn.over(OVER_S) == "hook"
    assert turn.text() == expected(scenario)


@pytest.mark.parametrize("scenario", sorted(FAILING))
def test_a_failed_turn_has_one_line_that_says_what_to_do(scenario: str) -> None:
    failed = played(scenario).failed
    assert failed
    assert failed.kind == ("limit" if scenario == "err429" else "login")
    assert expected(scenario).strip() in failed.message
    assert failed.say
    assert "\n" not in str(failed.say)
    assert str(failed.say).startswith("Claude Code")


def test_an_interrupted_turn_keeps_what_was_said() -> None:
    turn = played("interrupt")
    assert turn.over(OVER_S) == "record"
    assert turn.ended
    assert turn.ended.interrupted
    assert turn.draft().startswith(expected("interrupt").strip())


def test_a_dialog_refused_by_key_ends_the_turn() -> None:
    turn = played("toolbash-deny")
    assert turn.ended
    assert turn.ended.interrupted
    assert turn.tools == ["Bash: touch probe-file.txt && echo tool-ran-ok"]


def test_the_tools_of_a_turn_are_told_once() -> None:
    assert played("tooltwo").tools == ["Bash: touch one.txt", "Bash: touch two.txt"]


def test_the_two_halves_of_a_reply_that_hit_the_token_limit_are_one() -> None:
    go_on = {"type": "user", "isMeta": True, "message": {"content": "Output token limit hit."}}
    first = assistant(text("The first half, "), stop="max_tokens")
    assert answered(first, go_on, assistant(text("the second.")), last="the second.") == (
        "The first half, the second."
    )


def test_what_was_said_before_a_tool_is_not_the_answer() -> None:
    used = {"type": "tool_use", "name": "Bash", "input": {"command": "date"}}
    before = assistant(text("I look."), used, stop="tool_use")
    assert answered(before, assistant(text("It is "), text("late.")), last="late.") == "It is late."


def test_a_turn_that_ends_with_a_tool_answers_with_what_was_said_last() -> None:
    used = {"type": "tool_use", "name": "TodoWrite", "input": {}}
    assert answered(assistant(text("All of it.")), assistant(used), last="") == "All of it."


def test_the_last_block_is_the_answer_where_the_turn_is_known_to_have_said_it() -> None:
    last = "the record is late"
    assert answered(last=last, streamed="the rec") == last
    assert answered(last=last) == ""  # perhaps the turn before said it


@pytest.mark.parametrize("said", ["", " \n \n"])
def test_the_last_words_of_an_earlier_turn_are_not_the_answer_of_one_that_says_nothing(
    said: str,
) -> None:
    assert answered(assistant(text(said)), last="It is late.", streamed=said).strip() == ""


@pytest.mark.parametrize(
    "row",
    [
        assistant(text("API Error: 529"), isApiErrorMessage=True),
        assistant(text("of a subagent")) | {"isSidechain": True},
        assistant(text("withheld"), stop="refusal"),
        {"type": "user", "isCompactSummary": True, "message": {"content": "This session ..."}},
        {"type": "user", "isMeta": True, "message": {"content": "Caveat: ..."}},
        {"type": "system", "subtype": "turn_duration", "durationMs": 5},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}},
        {"type": "api-request-blob", "message": {"role": "user", "content": "hello"}},
        {"type": "assistant", "message": {"content": [None, 3, {"type": "text"}]}} | {"x": 1},
        {"type": "assistant", "message": "not an object"},
        {},
    ],
)
def test_rows_that_are_no_part_of_a_reply_say_nothing(row: dict[str, Any]) -> None:
    assert [event for event in from_record(row) if event != ReplyBlock("", sep="")] == []


def test_the_filler_after_a_killed_turn_is_not_a_reply() -> None:
    row = assistant(text("No response requested."))
    assert list(from_record(row)) == [ReplyBlock("No response requested.", sep="")]
    row["message"]["model"] = "<synthetic>"
    assert list(from_record(row)) == []


def test_people_can_write_the_words_of_an_interrupt() -> None:
    words = "[Request interrupted by user]"
    typed = {"type": "user", "promptId": "p", "message": {"content": words}}
    assert list(from_record(typed)) == [PromptTaken("p")]
    marked = {"type": "user", "promptId": "p", "message": {"content": [text(words)]}}
    assert list(from_record(marked)) == [ReplyEnded(interrupted=True, turn="p")]


def test_a_tool_is_told_by_the_argument_that_says_most() -> None:
    used = {"type": "tool_use", "name": "Read", "input": {"file_path": "/x\ny", "limit": 3}}
    assert list(from_record(assistant(used))) == [ToolUsed("Read", "/x y")]


@pytest.mark.parametrize(
    ("error", "message", "kind", "words"),
    [
        ("invalid_request", "Prompt is too long", "context", "`!new`"),
        ("invalid_request", "Request too large (max 32MB). Double press esc", "context", "`!new`"),
        ("rate_limit", "API Error: Request rejected (429) · later.", "limit", "few minutes"),
        ("billing_error", "Credit balance is too low", "limit", "funds"),
        ("authentication_failed", "Not logged in · Please run /login", "login", "administrator"),
        ("server_error", "API Error: 500 Internal server error. It ...", "api", "in a moment"),
        ("model_not_found", "There's an issue with the model (x).", "api", "another model"),
        ("unknown", "API Error: 400 messages: ...\n\nRequest ID: req_1", "api", "again"),
        ("", "", "api", "again"),
    ],
)
def test_every_failure_has_its_kind_and_a_remedy(
    error: str, message: str, kind: str, words: str
) -> None:
    hook = {
        "hook_event_name": "StopFailure",
        "prompt_id": "p",
        "error": error,
        "last_assistant_message": message,
    }
    (failed,) = from_hook(hook)
    assert isinstance(failed, ReplyFailed)
    assert (failed.kind, failed.turn) == (kind, "p")
    assert failed.say
    assert words in str(failed.say)
    assert "\n" not in str(failed.say)


def test_hooks_name_the_turn() -> None:
    hook = {"hook_event_name": "UserPromptSubmit", "prompt_id": "p", "prompt": "x"}
    assert list(from_hook(hook)) == [PromptTaken("p")]


@pytest.mark.parametrize("payload", [{}, {"hook_event_name": "Later"}, {"hook_event_name": 3}])
def test_hooks_that_are_not_known_say_nothing(payload: dict[str, Any]) -> None:
    assert list(from_hook(payload)) == []


def test_a_permission_hook_asks() -> None:
    (asked,) = from_hook({"hook_event_name": "PermissionRequest", "tool_name": "Bash"})
    assert isinstance(asked, HookQuestion)
