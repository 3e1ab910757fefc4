"""A screen and a record that tell the same are told from a screen that tells something else."""

import re
from pathlib import Path

import pytest

from adapters.replay import replay
from bench.cross_check import MOST_CHARS, find_mismatch

RECORDINGS = Path(__file__).parents[1] / "adapters" / "recordings"
CASES = sorted(path.parent.name for path in RECORDINGS.glob("*/recording.jsonl"))
# What the model sent is not what the program showed, or took into its record: see
# test_recordings.SHOWN_OTHERWISE.
UNLIKE = ("claude-interrupt", "codex-interrupt")


def shown(case: str) -> str:
    return replay(RECORDINGS / case / "recording.jsonl", case.partition("-")[0])


def sent(case: str) -> str:
    return (RECORDINGS / case / "expected.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", [case for case in CASES if case not in UNLIKE])
def test_no_alarm_for_a_terminal_that_showed_what_was_sent(case: str) -> None:
    assert find_mismatch(sent(case), shown(case)) is None


@pytest.mark.parametrize(
    "case", [c for c in CASES if c not in UNLIKE and len(sent(c).split()) > 12 and shown(c)]
)
def test_a_word_lost_added_or_altered_is_an_alarm(case: str) -> None:
    words = re.findall(r"[^\W\d_]+", shown(case))
    word = max(words[len(words) // 2 :], key=len)
    before, _, after = shown(case).rpartition(word)
    for other in ("", f"{word} zebra", f"{word}zz"):
        found = find_mismatch(sent(case), f"{before}{other}{after}")
        assert found is not None, other
        assert found.lost + found.added > 0


def test_the_end_of_a_long_reply_is_no_disagreement() -> None:
    long = "\n\n".join(f"Paragraph {n} has some words." for n in range(100))
    assert find_mismatch(long, long[-700:]) is None


def test_a_lost_end_is_a_disagreement() -> None:
    found = find_mismatch("One two three four.", "One two three")
    assert found is not None
    assert (found.lost, found.added, found.words) == (1, 0, 4)


def test_syntax_is_nobodys_word() -> None:
    recorded = (
        "# Title\n\n1. **one** [site](http://a.b/c)\n\n```python\nx = 1\n```\n\n"
        "| a | b |\n|---|---|\n| c &amp; d | e<br>f |\n\n- [x] done"
    )
    screen = "Title\n\none site (http://a.b/c)\n\nx = 1\n\na b\nc & d e f\n\n☑ done"
    assert find_mismatch(recorded, screen) is None
    assert find_mismatch(recorded, screen.replace(" (http://a.b/c)", "")) is None


def test_what_the_program_says_that_it_left_out_is_not_missed() -> None:
    assert (
        find_mismatch("one\ntwo\nthree\nfour", "one\n… +2 lines (ctrl+o to expand)\nfour") is None
    )


def test_nothing_shown_and_texts_too_long_to_compare_prove_nothing() -> None:
    assert find_mismatch("A reply.", "") is None
    assert find_mismatch("", "A reply.") is None
    assert find_mismatch("a " * MOST_CHARS, "b") is None


def test_an_alarm_holds_nothing_of_the_text() -> None:
    found = find_mismatch("the secret word", "another word")
    assert "secret" not in repr(found)
    assert "another" not in repr(found)


def test_rows_that_our_reader_never_saw_are_missing() -> None:
    recorded = "one two three\n\nfour five six\n\nseven eight nine"
    assert find_mismatch(recorded, "one two three\n\n… +2 lines\n\nseven eight nine") is None
    missed = find_mismatch(recorded, "one two three\n\n…\n\nseven eight nine")
    assert missed is not None
    assert (missed.lost, missed.added) == (3, 0)
