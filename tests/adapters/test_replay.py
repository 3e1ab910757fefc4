"""A recording is played again; a file that is none is refused with a sentence."""

import base64
import json
from pathlib import Path

import pytest

from adapters.replay import prompt_of, read_recording, replay
from contract.errors import MootError

RULE = "─" * 40


def line(kind: str, text: str) -> str:
    return json.dumps([0.5, kind, base64.b64encode(text.encode()).decode()])


def recording(tmp_path: Path, *lines: str, header: str = '{"cols": 40, "rows": 10}') -> Path:
    path = tmp_path / "recording.jsonl"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def turn(prompt: str, reply: str) -> list[str]:
    return [
        line("i", f"\x1b[200~{prompt}\x1b[201~"),
        line("i", "\r"),
        line("o", f"❯ {prompt}\r\n\r\n● {reply}\r\n\r\n{RULE}\r\n❯\xa0\r\n{RULE}\x1b[3A\r"),
    ]


def test_the_last_reply_is_returned(tmp_path: Path) -> None:
    path = recording(tmp_path, *turn("hello", "Hi."), *turn("again", "Hi again."))
    assert replay(path, "claude") == replay(path, "claude-code") == "Hi again."


def test_marks_unknown_kinds_and_further_fields_are_no_matter(tmp_path: Path) -> None:
    extra = [line("m", "api:done"), '[1.0, "r", "100x30"]', '[2, "o", "", {}]', ""]
    header = '{"version": 9, "cols": 40, "rows": 10, "cli": "x", "expected": "no"}'
    path = recording(tmp_path, *extra, *turn("hello", "Hi."), header=header)
    assert replay(path, "claude") == "Hi."


def test_without_a_reply_there_is_nothing(tmp_path: Path) -> None:
    assert replay(recording(tmp_path), "claude") == ""
    assert replay(recording(tmp_path, line("o", "Welcome")), "claude") == ""


def test_an_agent_that_nobody_knows_is_tried_all_the_same(tmp_path: Path) -> None:
    assert replay(recording(tmp_path, *turn("hello", "Hi.")), "some-cli") == "Hi."


def test_a_full_screen_program_may_have_ended(tmp_path: Path) -> None:
    lines = turn("hello", "Hi.")
    lines = [line("o", "\x1b[?1049h\x1b[H"), *lines, line("o", "\x1b[?1049l bye")]
    assert replay(recording(tmp_path, *lines), "claude") == "Hi."


def test_a_full_screen_programs_long_reply_is_pieced_together(tmp_path: Path) -> None:
    lines = [line("o", "\x1b[?1049h\x1b[H"), *turn("count", "Counting:")[:2]]
    said = ["❯ count", "", "● Counting:", *(f"  number {i}" for i in range(60))]
    for end in range(3, len(said) + 1, 3):
        frame = "\r\n".join([*said[max(0, end - 6) : end], "", RULE, "❯\xa0", RULE])
        lines.append(line("o", f"\x1b[?2026h\x1b[2J\x1b[H{frame}\x1b[?2026l"))
    reply = replay(recording(tmp_path, *lines), "claude")
    assert reply.split("\n") == ["Counting:", *(f"number {i}" for i in range(60))]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("", "line 1"),
        ("not json", "line 1"),
        ('{"cols": 40}', "line 1"),
        ('{"cols": 0, "rows": 10}', "line 1"),
        ('{"cols": "wide", "rows": 10}', "line 1"),
        ("[]", "line 1"),
        ('{"cols": 40, "rows": 10}\nnot json', "line 2"),
        ('{"cols": 40, "rows": 10}\n\n{"a": 1}', "line 3"),
        ('{"cols": 40, "rows": 10}\n[1.0, "o"]', "line 2"),
        ('{"cols": 40, "rows": 10}\n["now", "o", ""]', "line 2"),
        ('{"cols": 40, "rows": 10}\n[1.0, "o", "%%%"]', "line 2"),
        ('{"cols": 40, "rows": 10}\n[1.0, "o", 7]', "line 2"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str, names: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(MootError, match=names) as refused:
        replay(path, "claude")
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.jsonl", tmp_path, binary):
        with pytest.raises(MootError) as refused:
            replay(path, "claude")
        assert str(path) in str(refused.value)


def test_the_prompt_is_what_was_typed_last(tmp_path: Path) -> None:
    typed = [
        line("i", "\x1b[?62;22c"),  # an answer to a query
        line("i", "\x1b[200~first\nline\x1b[201~"),
        line("i", "\r"),
        line("i", "1"),  # a key at a dialog
        line("i", "\x1b[200~sec"),
        line("i", "ond\x1b[201~"),
        line("i", "\r"),
        line("i", "\x1b[200~/exit\x1b[201~"),
        line("i", "\r"),
    ]
    events = read_recording(recording(tmp_path, *typed)).events
    assert prompt_of(events) == "second"
    assert prompt_of(events[:3]) == "first\nline"
    assert prompt_of(events[:1]) is None
