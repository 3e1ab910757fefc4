"""What is proposed for programs from what they showed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from adapters.describing.reply_rows import ReplyPlace, reply_place
from adapters.describing.watch import Frame, WatchedPrompt
from adapters.screen.screen import Screen

COLS = 120
LONG = (
    "we carry the chairs out and sweep",
    "the steps and argue about where the",
    "beans should go this year and then",
    "there is soil under every nail and",
    "a kettle singing in the kitchen",
)


def watched(prompt: str, *rows: str) -> WatchedPrompt:
    """A prompt whose echo is `$ prompt`, and what stood below it."""
    screen = Screen(COLS, 40)
    screen.feed("\r\n".join([f"$ {prompt}", *rows]).encode())
    frame = Frame(1.0, tuple(screen.display()), "", screen.cursor, lines=True)
    return WatchedPrompt(prompt, frame, screen, 0, [frame], 1.0)


def place(*replies: Sequence[str]) -> ReplyPlace:
    turns = [watched(f"question {n}", *rows) for n, rows in enumerate(replies)]
    return reply_place(turns, 0, COLS)


def test_a_footer_whose_numbers_change_is_no_reply() -> None:
    found = place(["One.", "", "- 1.2 s, turn 1"], ["Two.", "", "- 10.4 s, turn 2"])
    assert found.aside == r"- \d+\.\d+ s, turn \d+$"


def test_words_that_end_every_reply_are_the_reply_s() -> None:
    assert not place(["One.", "Done."], ["Two.", "Done."]).aside


def test_a_name_above_further_indented_rows_is_no_reply() -> None:
    found = place(["  Loom", "      One."], ["  Loom", "      Two.", "      Three."])
    assert (found.aside, found.margin) == ("  Loom$", 6)


@pytest.mark.parametrize("same", [["Hello.", "One."], ["  Hello.", "  One."]])
def test_a_first_row_that_stays_is_no_name_by_itself(same: list[str]) -> None:
    assert not place(same, [same[0], same[1].replace("One", "Two")]).aside


def test_lines_that_are_broken_at_a_column_of_its_own_show_it() -> None:
    assert place(["One."], LONG).spare == COLS - max(map(len, LONG))


def test_lines_of_one_length_are_not_broken() -> None:
    lines = [f"Line {n} of the answer." for n in range(10, 20)]
    assert place(["One."], lines).spare == 0
