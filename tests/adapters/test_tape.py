"""Output that is kept and drawn later, bit by bit, and what is answered meanwhile."""

from adapters.pty.console import FULL_BYTES, OutputBuffer
from adapters.reading.visible import columns
from adapters.screen.grid import Grid
from adapters.screen.rows import ScreenLine
from adapters.screen.screen import Screen
from adapters.screen.scrollback import RUNS, Scrollback
from adapters.screen.style import PLAIN, Style

STORM = b"\x1b[2J\x1b[9999b\x1b[9999L" * 200


def drawn(tape: OutputBuffer) -> int:
    """Draw it in the smallest bits; how many."""
    bits = 1
    while not tape.draw(0.0):
        bits += 1
    return bits


def test_a_storm_is_drawn_in_many_bits_to_the_same_screen() -> None:
    tape, screen = OutputBuffer(120, 40), Screen(120, 40)
    tape.feed(b"words " + STORM)
    screen.feed(b"words " + STORM)
    assert drawn(tape) >= 600  # one for each sequence
    assert tape.screen.lines() == screen.lines()
    assert tape.size_bytes == 0


def test_output_that_draws_nothing_is_left_in_bits_too() -> None:
    tape = OutputBuffer(120, 40)
    tape.feed(b"\x1b" * 50_000)
    assert drawn(tape) > 10


def test_where_the_cursor_is_waits_for_the_drawing() -> None:
    tape = OutputBuffer(80, 24)
    tape.feed(b"abc\x1b[6ndef")
    assert (tape.asked, tape.answers) == (1, [])
    drawn(tape)
    assert (tape.asked, tape.answers) == (0, [b"\x1b[1;4R"])


def test_answers_keep_the_order_of_the_questions() -> None:
    tape = OutputBuffer(80, 24)
    tape.feed(b"\x1b[5n\x1b[6n\x1b[c")
    assert tape.answers == [b"\x1b[0n"]
    drawn(tape)
    assert tape.answers == [b"\x1b[0n", b"\x1b[1;1R", b"\x1b[?62;22c"]


def test_a_tape_is_full_before_it_keeps_more_than_it_should() -> None:
    tape = OutputBuffer(80, 24)
    tape.feed(b"x" * (FULL_BYTES + 1))
    assert tape.size_bytes > FULL_BYTES
    drawn(tape)
    assert tape.size_bytes == 0


def line(text: str, runs: int = 1) -> ScreenLine:
    return ScreenLine(text, False, tuple((char, PLAIN) for char in text[:runs]))


def test_the_scrollback_is_told_from_a_line_on() -> None:
    kept = Scrollback(3)
    kept.extend(line(str(number)) for number in range(5))
    assert kept.total == 5
    assert [each.text for each in kept.since(0)] == ["2", "3", "4"]
    assert [each.text for each in kept.since(4)] == ["4"]
    assert kept.since(5) == []
    kept.clear()
    kept.extend([line("5")])
    assert [each.text for each in kept.since(4)] == ["5"]


def test_lines_in_which_each_cell_has_a_colour_of_its_own_are_fewer() -> None:
    kept = Scrollback(10_000)
    kept.extend(line("x" * 500, 500) for _ in range(1_000))
    assert len(kept.since(0)) == RUNS // 500


def test_a_line_keeps_its_runs_and_their_styles() -> None:
    red, kept = Style(fg="1"), Scrollback(3)
    runs = (("漢字 ", PLAIN), ("b", red), (" c", PLAIN))
    kept.extend([ScreenLine("漢字 b c", True, runs), ScreenLine("", False, ())])
    assert kept.since(0) == [ScreenLine("漢字 b c", True, runs), ScreenLine("", False, ())]


def test_a_screen_of_one_line_scrolls_all_the_same() -> None:
    grid = Grid(10, 1, 5)
    for _ in range(9):
        grid.index()
    assert grid.history.total == 9


def test_forty_thousand_flags_are_counted_piece_by_piece() -> None:
    assert columns("\U0001f1e9\U0001f1ea" * 20_000) == 40_000
