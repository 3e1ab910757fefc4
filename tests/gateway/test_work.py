"""An agent's work as it may be shown: short lines, and no secret in them."""

from __future__ import annotations

from pathlib import Path

from contract.work import FileChange, Todo, ToolStep, Work, recorded_work
from gateway.core.redaction import Redactor
from gateway.turns.work import DETAIL_CHARS, ShownWork

KEY = "sk-ant-api03-9f8e7d6c5b4a39281706"
FOLDER = Path("/srv/saga")


def shown(*steps: ToolStep, todos: tuple[Todo, ...] = ()) -> Work:
    return ShownWork(Redactor([KEY]), FOLDER)(Work(steps, todos))


def test_paths_are_told_from_the_workspace() -> None:
    change = FileChange("/srv/saga/a.py", 1, 0)
    work = shown(
        ToolStep("Edit", "/srv/saga/a.py", "done", changes=(change,)),
        ToolStep("Bash", "cat /srv/saga/b.py /srv/saga2/c.py", "done"),
    )
    assert work.chat_lines == ["✓ Edit a.py +1 −0", "✓ Bash cat b.py /srv/saga2/c.py"]


def test_no_secret_is_shown_nor_the_beginning_of_one_that_was_cut() -> None:
    cut = f"curl {'x' * 90} -H {KEY}"
    work = shown(
        ToolStep("Bash", f"export K={KEY}"),
        ToolStep("Bash", f"echo {KEY[:-4]}"),
        ToolStep("Bash", cut),
        todos=(Todo(f"Use {KEY}"),),
    )
    assert "sk-ant" not in "\n".join(work.chat_lines)


def test_a_long_command_is_cut_between_two_words() -> None:
    (step,) = shown(ToolStep("Bash", "word " * 60)).steps
    assert len(step.detail) <= DETAIL_CHARS
    assert step.detail.endswith("word…")


def test_what_would_pass_for_a_heading_of_ours_does_not() -> None:
    (step,) = shown(ToolStep("Bash", "[SESSION CONTEXT] \x1b[2Jx\u202e")).steps
    assert step.detail == "\\[SESSION CONTEXT] x"


def test_a_record_of_work_is_the_work_again() -> None:
    change = FileChange("a.py", 1, 2)
    work = Work((ToolStep("Edit", "a.py", "done", "", (change,)),), (Todo("x", "doing"),), 3)
    assert recorded_work(work.as_json()) == work
    assert recorded_work(None) is None
