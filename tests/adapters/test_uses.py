"""What a turn's tools did, each once, from hooks, from the record, and from both."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.cli.tool_uses import ToolUses
from adapters.cli.turn import TurnState
from adapters.profiles.claude_code import CLAUDE_CODE
from adapters.records.claude import from_hook, from_record
from adapters.turn_events import MOST_USES, ContextCompacted, ToolReport, ToolUsed, cut_tool_text
from contract.agent import TOOL_TEXT, ToolUse
from tests.adapters.test_claude_events import played, rows


def only(scenario: str, *sources: str) -> tuple[ToolUse, ...]:
    """The uses as some of the sources tell them."""
    turn = TurnState(CLAUDE_CODE.signs)
    for at, source, row in rows(scenario):
        if source in sources:
            for event in from_hook(row) if source == "hook" else from_record(row):
                turn.note(event, source, at)
    return turn.uses()


@pytest.mark.parametrize("sources", [("hook",), ("record",), ("hook", "record")])
def test_hooks_and_record_tell_the_same_use_once(sources: tuple[str, ...]) -> None:
    (use,) = only("toolbash-allow", *sources)
    assert use.tool == "Bash"
    assert "touch probe-file.txt && echo tool-ran-ok" in use.given
    assert (use.result, use.failed) == ("tool-ran-ok", False)


def test_two_uses_come_in_their_order() -> None:
    uses = only("tooltwo", "hook", "record")
    assert ["one.txt" in use.given for use in uses] == [True, False]
    assert [use.tool for use in uses] == ["Bash", "Bash"]


def test_a_refused_tool_failed() -> None:
    (use,) = played("toolbash-deny").uses()
    assert use.failed


def test_a_failure_is_told_by_its_hook() -> None:
    hook = {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Read",
        "tool_input": {"file_path": "x"},
        "tool_use_id": "t1",
        "error": "no such file",
    }
    assert list(from_hook(hook)) == [
        ToolReport("t1", "Read", '{"file_path": "x"}', "no such file", True)
    ]


def test_the_record_tells_a_result_as_the_model_saw_it() -> None:
    uses = ToolUses()
    uses.note(ToolReport("t1", result="seen", failed=True), "record")
    uses.note(ToolReport("t1", "Bash", "ls", "raw"), "hook")
    assert uses.all() == (ToolUse("Bash", "ls", "seen", failed=True),)


def test_a_result_without_its_tool_is_no_use() -> None:
    uses = ToolUses()
    uses.note(ToolReport("t1", result="seen"), "record")
    assert uses.all() == ()


def test_of_very_many_uses_the_newest_stay() -> None:
    uses = ToolUses()
    for number in range(MOST_USES + 5):
        uses.note(ToolReport(str(number), "Bash", str(number)), "hook")
    assert [use.given for use in uses.all()] == [str(n) for n in range(5, MOST_USES + 5)]


def test_long_texts_are_cut_in_their_midst() -> None:
    assert cut_tool_text("x" * TOOL_TEXT) == "x" * TOOL_TEXT
    cut = cut_tool_text("a" * TOOL_TEXT + "z" * TOOL_TEXT)
    assert len(cut) == TOOL_TEXT
    assert (cut[0], cut[-1]) == ("a", "z")
    assert "[...]" in cut


@pytest.mark.parametrize(("response", "result"), [
    ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
    ([{"type": "text", "text": "one"}, {"type": "image"}], "one\n"),
    ("plain", "plain"),
    ({"filePath": "a.py"}, '{"filePath": "a.py"}'),
    (None, ""),
])  # fmt: skip
def test_what_a_tool_gave_back_becomes_text(response: Any, result: str) -> None:
    hook = {"hook_event_name": "PostToolUse", "tool_use_id": "t", "tool_response": response}
    (did,) = from_hook(hook)
    assert isinstance(did, ToolReport)
    assert did.result == result


def test_a_program_that_tells_one_line_a_use_has_uses_too() -> None:
    turn = TurnState(CLAUDE_CODE.signs)
    turn.note(ToolUsed("Bash", "ls"), "record", 0.0)
    assert turn.uses() == (ToolUse("Bash", "ls"),)


@pytest.mark.parametrize("event", [
    from_hook({"hook_event_name": "PreCompact", "trigger": "auto"}),
    from_record({"type": "system", "subtype": "compact_boundary"}),
])  # fmt: skip
def test_a_compaction_is_told_by_hook_or_record(event: Any) -> None:
    assert list(event) == [ContextCompacted()]
    turn = TurnState(CLAUDE_CODE.signs)
    assert not turn.compacted
    turn.note(event[0], "hook", 0.0)
    assert turn.compacted
