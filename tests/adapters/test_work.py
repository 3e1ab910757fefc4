"""The steps, changed files and to-do lists of a turn, in every program's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.records.work import WorkSteps
from adapters.turn_events import ToolReport
from contract.work import CHAT_STEPS, MOST_STEPS, Work

PATCH = """*** Begin Patch
*** Update File: a.py
@@
-old
+new
+more
*** Add File: b.py
+first
*** End Patch"""


def reported(*reports: ToolReport) -> Work:
    steps = WorkSteps()
    for report in reports:
        steps.note(report)
    return steps.told()


def lines(tool: str, given: Mapping[str, Any] | str, **ended: Any) -> list[str]:
    """One use from its beginning to its end."""
    words = given if isinstance(given, str) else json.dumps(given)
    begun = ToolReport("u1", tool, words)
    return reported(begun, ToolReport("u1", **({"result": "done"} | ended))).chat_lines


@pytest.mark.parametrize(("tool", "given", "line"), [
    ("Read", {"file_path": "gateway/app.py", "limit": 3}, "✓ Read gateway/app.py"),
    ("Bash", {"command": "make\n  test", "description": "x"}, "✓ Bash make test"),
    ("Edit", {"file_path": "a.py", "old_string": "a\nb", "new_string": "a\nc\nd"},
     "✓ Edit a.py +2 −1"),
    ("MultiEdit", {"file_path": "a.py", "edits": [
        {"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""},
    ]}, "✓ MultiEdit a.py +1 −2"),
    ("Write", {"file_path": "a.py", "content": "x\ny\n"}, "✓ Write a.py +2 −0"),
    ("edit", {"filePath": "a.py", "oldString": "x", "newString": "y"}, "✓ edit a.py +1 −1"),
    ("str_replace_editor", {"path": "a.py", "old_str": "x", "new_str": "y"},
     "✓ str_replace_editor a.py +1 −1"),
    ("create", {"path": "a.py", "file_text": "x"}, "✓ create a.py +1 −0"),
    ("patch", {"patch": PATCH}, "✓ patch a.py +2 −1, b.py +1 −0"),
    ("apply_patch", {"a.py": {"type": "update", "unified_diff": "@@\n-x\n+y\n"}},
     "✓ apply_patch a.py +1 −1"),
    ("apply_patch", {"a.py": {"type": "add", "content": "x\ny\n"},
                     "b.py": {"type": "delete", "content": "z\n"}},
     "✓ apply_patch a.py +2 −0, b.py +0 −1"),
    ("mcp__moot__search", {"text": "tokens"}, "✓ moot search tokens"),
    ("exec_command", "ls -l", "✓ exec_command ls -l"),
    ("list", {}, "✓ list"),
])  # fmt: skip
def test_a_use_is_one_line(tool: str, given: Any, line: str) -> None:
    assert lines(tool, given) == [line]


@pytest.mark.parametrize("ended", [
    {"failed": True, "result": "Exit code 2\nmake: *** [test]"},
    {"result": "no such file", "exit_code": 2},
    {"result": "Output: x\nExit Code: 2\nSignal: none"},
    {"result": "x\n<exited with exit code 2>"},
])  # fmt: skip
def test_a_command_that_failed_tells_its_code(ended: Any) -> None:
    assert lines("Bash", {"command": "make test"}, **ended) == ["✗ Bash make test → exit 2"]


def test_what_a_file_says_of_exit_codes_is_no_failure() -> None:
    assert lines("Read", {"path": "log"}, result="Exit Code: 2\n") == ["✓ Read log"]
    assert lines("Bash", {"command": "cat log"}, result="it exited with code 2") == [
        "✓ Bash cat log"
    ]


def test_a_file_that_could_not_be_changed_is_not_counted() -> None:
    edit = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    work = reported(ToolReport("u1", "Edit", json.dumps(edit), "no match", failed=True))
    assert (work.chat_lines, work.summary) == (["✗ Edit a.py"], "1 tool")


def test_the_lines_that_really_changed_take_the_place_of_those_that_were_given() -> None:
    patch = {"structuredPatch": [{"lines": [" a", "-b", "+c", "+d", "+e"]}]}
    edit = {"file_path": "a.py", "content": "whole"}
    assert lines("Write", edit, result=json.dumps(patch)) == ["✓ Write a.py +3 −1"]


def test_what_runs_is_told_so_and_files_are_counted_once() -> None:
    edit = json.dumps({"file_path": "a.py", "content": "x"})
    done = (ToolReport(f"u{n}", "Write", edit, "ok") for n in range(3))
    work = reported(*done, ToolReport("u9", "Bash", '{"command": "make"}'))
    assert work.chat_lines[-1] == "… Bash make"
    assert work.summary == "4 tools, 1 file changed"


def test_of_many_uses_the_newest_are_kept_and_the_last_few_drafted() -> None:
    work = reported(*(ToolReport(f"u{n}", "Bash", f"c{n}", "") for n in range(MOST_STEPS + 3)))
    assert (len(work.steps), work.left_out) == (MOST_STEPS, 3)
    assert work.summary == f"{MOST_STEPS + 3} tools"
    assert work.chat_lines[0] == f"({MOST_STEPS + 3 - CHAT_STEPS} tools before)"
    assert len(work.chat_lines) == CHAT_STEPS + 1


TODOS = [
    ("TodoWrite", {"todos": [{"content": "Plan", "status": "completed", "activeForm": "P"},
                             {"content": "Do", "status": "in_progress", "activeForm": "D"}]}),
    ("update_plan", {"explanation": "so", "plan": [{"step": "Plan", "status": "completed"},
                                                   {"step": "Do", "status": "in_progress"}]}),
    ("write_todos", {"todos": [{"description": "Plan", "status": "completed"},
                               {"description": "Do", "status": "in_progress"},
                               {"description": "Never", "status": "cancelled"}]}),
    ("update_todo", {"todos": "- [x] Plan\n- [~] Do\n"}),
    ("update_todo", {"todos": "\n\n  - [x] Plan\n \n\t* [-] Do\n"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "given"), TODOS)
def test_a_to_do_list_is_no_step(tool: str, given: Mapping[str, Any]) -> None:
    work = reported(ToolReport("u1", tool, json.dumps(given)), ToolReport("u1", result="ok"))
    assert work.chat_lines == ["☑ Plan", "▸ Do"]
    assert work.summary == "1 of 2 to-dos done"


def test_claude_codes_tasks_are_its_to_do_list() -> None:
    given = '{"subject": "Plan", "description": "it"}'
    made = '{"task": {"id": "7", "subject": "Plan"}}'
    hooks = (
        ToolReport("u1", "TaskCreate", given),
        ToolReport("u1", "TaskCreate", given, made),
        ToolReport("u2", "TaskUpdate", '{"taskId": "7", "status": "in_progress"}'),
    )
    record = (
        ToolReport("u1", "TaskCreate", given),
        ToolReport("u1", result="Task #7 created successfully: Plan"),
        ToolReport("u3", "TaskList", "{}"),
    )
    assert reported(*hooks, *record).chat_lines == ["▸ Plan"]
    deleted = ToolReport("u4", "TaskUpdate", '{"taskId": "7", "status": "deleted"}')
    assert reported(*hooks, deleted).chat_lines == []


def test_a_list_that_was_refused_is_as_it_was_before() -> None:
    _, given = TODOS[0]
    written = ToolReport("u1", "TodoWrite", json.dumps(given), "ok")
    other = json.dumps({"todos": [{"content": "Other", "status": "pending"}]})
    refused = (ToolReport("u2", "TodoWrite", other), ToolReport("u2", result="no", failed=True))
    assert reported(written, *refused).chat_lines == ["☑ Plan", "▸ Do"]


def test_a_record_that_is_late_does_not_bring_an_old_list_back() -> None:
    old, new = (
        json.dumps({"todos": [{"content": "Plan", "status": status}]})
        for status in ("pending", "completed")
    )
    hooks = (ToolReport("u1", "TodoWrite", old, "ok"), ToolReport("u2", "TodoWrite", new, "ok"))
    assert reported(*hooks, ToolReport("u1", "TodoWrite", old)).chat_lines == ["☑ Plan"]


def test_a_program_that_tells_one_line_a_use_has_steps_too() -> None:
    steps = WorkSteps()
    steps.use("Bash", "ls")
    assert steps.told().chat_lines == ["… Bash ls"]
    steps.use("Read", "a.py")
    steps.settle()
    assert steps.told().chat_lines == ["✓ Bash ls", "✓ Read a.py"]


def test_a_report_takes_the_place_of_the_line_that_came_before_it() -> None:
    steps = WorkSteps()
    steps.use("exec_command", "ls")
    steps.note(ToolReport("u1", "exec_command", "ls", "a.py", exit_code=0))
    assert steps.told().chat_lines == ["✓ exec_command ls"]
