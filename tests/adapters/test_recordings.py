"""Terminals recorded from real programs: every word of the reply, in order, and no other.

`<program>-<scenario>[-<version>][-<size>]/recording.jsonl` and `expected.md`, the exact text
that the model sent. The screen never shows that text exactly, so words are compared.
"""

from pathlib import Path

import pytest

from adapters.catalog import profiles
from adapters.profiles import looks
from adapters.profiles.generic import look_of
from adapters.reading.question import ScreenDialog, find_dialog
from adapters.replay import read_recording, replay
from adapters.screen.screen import Screen
from contract.agent import Option
from tests.doubles.words import words

RECORDINGS = Path(__file__).parent / "recordings"
CASES = sorted(path.parent.name for path in RECORDINGS.glob("*/recording.jsonl"))

# What a program itself makes of a reply before it shows it.
SHOWN_OTHERWISE = {
    "claude-interrupt": ("\n\nSecond", ""),  # the line that was being written is not shown
    "codex-interrupt": ("parag", "paragraph with bold,"),  # more had come than was counted
    "codex-long200": ("$x^2$", "x²"),  # a formula is typeset
}


def program(case: str) -> str:
    return case.partition("-")[0]


def test_the_recordings_are_here() -> None:
    assert len(CASES) == 78
    assert {program(case) for case in CASES} >= {"claude", "codex", "gemini", "opencode", "llm"}


@pytest.mark.parametrize("case", CASES)
def test_the_reply_has_every_word_and_no_other(case: str) -> None:
    expected = (RECORDINGS / case / "expected.md").read_text(encoding="utf-8")
    expected = expected.replace(*SHOWN_OTHERWISE.get(case, ("", "")))
    reply = replay(RECORDINGS / case / "recording.jsonl", program(case))
    assert words(reply) == words(expected)


@pytest.mark.parametrize("case", [case for case in CASES if program(case) in ("claude", "codex")])
def test_pieces_of_any_size_give_the_same_screen(case: str) -> None:
    recording = read_recording(RECORDINGS / case / "recording.jsonl")
    output = b"".join(data for kind, data in recording.events if kind == "o")
    whole, cut = (Screen(recording.cols, recording.rows) for _ in range(2))
    answers = whole.feed(output)
    assert b"".join(cut.feed(output[i : i + 7]) for i in range(0, len(output), 7)) == answers
    assert cut.lines() == whole.lines()


@pytest.mark.parametrize("case", CASES)
def test_the_programs_queries_get_the_answers_that_they_got(case: str) -> None:
    """The recorder answered by the same table."""
    recording = read_recording(RECORDINGS / case / "recording.jsonl")
    screen = Screen(recording.cols, recording.rows)
    answers = b"".join(screen.feed(data) for kind, data in recording.events if kind == "o")
    typed = b"".join(data for kind, data in recording.events if kind == "i")
    sent = [b"\x1b[?62;22c", b"\x1b]11;rgb:0000/0000/0000\x1b\\", b"\x1b[1;1R"]
    assert all(answer in answers for answer in sent if answer in typed)


def dialogs(case: str) -> list[ScreenDialog]:
    recording, look = read_recording(RECORDINGS / case / "recording.jsonl"), look_of(program(case))
    screen = Screen(recording.cols, recording.rows)
    found: list[ScreenDialog] = []
    for kind, data in recording.events:
        if kind == "o":
            screen.feed(data)
            dialog = find_dialog(screen, look)
            if dialog and dialog not in found:
                found.append(dialog)
    return found


YES, NO = Option("Yes"), Option("No", refuses=True)
ASKED = {
    "claude-toolbash-allow": ScreenDialog(
        "Do you want to proceed?",
        "Bash command\ntouch probe-file.txt && echo tool-ran-ok\nCreate a probe file",
        (YES, Option("Yes, and always allow access to demo-room/ from this project"), NO),
        0,
    ),
    "codex-toolbash-allow": ScreenDialog(
        "Would you like to run the following command?",
        "Environment: local\nReason: Do you allow creating a probe file?\n"
        "$ touch /tmp/demo-room/probe-file.txt && echo tool-ran-ok",
        (
            Option("Yes, proceed (y)"),
            Option(
                "Yes, and don't ask again for commands that start with"
                " `touch /tmp/demo-room/probe-file.txt` (p)"
            ),
            Option("No, and tell Codex what to do differently (esc)", refuses=True),
        ),
        0,
    ),
    "gemini-tool": ScreenDialog(
        "Allow execution of [Shell]?",
        "? Shell  touch demo-created.txt && echo created\ntouch demo-created.txt && echo created",
        (
            Option("Allow once"),
            Option("Allow for this session"),
            Option("No, suggest changes (esc)", refuses=True),
        ),
        0,
    ),
    "copilot-tool": ScreenDialog(
        "Do you want to run this command?",
        "create a demo file\ntouch demo-created.txt && echo created",
        (
            YES,
            Option("Yes, and don't ask again for `touch` in this directory (/tmp/demo-room)"),
            Option("No, and tell Copilot what to do differently (Esc to stop)", refuses=True),
        ),
        0,
    ),
    "opencode-tool-80x24": ScreenDialog(
        "△ Permission required",
        "# Shell command\n$ touch demo-created.txt && echo created",
        (Option("Allow once"), Option("Allow always"), Option("Reject", refuses=True)),
        0,
    ),
    "vibe-tool": ScreenDialog(
        "Permission for the file_system.bash tool (touch *)",
        "touch demo-created.txt && echo created",
        (
            Option("Allow once"),
            Option("Allow for remainder of this session"),
            Option("Always allow"),
            Option("Deny", refuses=True),
        ),
        0,
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_permission_prompt_is_read_with_its_real_choices(case: str) -> None:
    assert dialogs(case) == [ASKED[case]]


def test_two_prompts_in_a_row_are_two() -> None:
    assert [dialog.detail for dialog in dialogs("claude-tooltwo")] == [
        "Bash command\ntouch one.txt\nCreate one",
        "Bash command\ntouch two.txt\nCreate two",
    ]


def test_the_questions_of_a_first_start_are_read_with_what_is_selected() -> None:
    theme, trust = dialogs("claude-dialog-theme")[-1], dialogs("claude-dialog-trust")[-1]
    assert theme.options[theme.selected] == Option("Dark mode")
    assert len(theme.options) == 7
    assert trust.options == (
        Option("Yes, I trust this folder"),
        Option("No, exit", refuses=True),
    )


@pytest.mark.parametrize(
    "case", [c for c in CASES if not any(w in c for w in ("tool", "dialog", "login", "safe"))]
)
def test_no_question_is_seen_where_none_is(case: str) -> None:
    assert dialogs(case) == []


def test_a_look_is_named_like_its_program() -> None:
    assert looks().keys() == profiles().keys()
