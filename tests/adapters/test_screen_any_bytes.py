"""Whatever a program writes, the terminal stays sane: no exception, no growth, no chance."""

import sys
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.screen.cells import CLUSTER_LIMIT
from adapters.screen.screen import EVENTS_KEPT, Screen
from adapters.screen.signals import Signals
from adapters.screen.tokens import STRING_LIMIT

NUMBER = st.one_of(
    st.just(""),
    st.integers(0, 40).map(str),
    st.sampled_from(["999", "65535", "9" * 5000, "²", "4:3", "38:2::1:2:3", "-1", "1.5"]),
)
CSI = st.builds(
    lambda opening, marker, numbers, middle, final: (
        opening + marker + ";".join(numbers) + middle + final
    ),
    st.sampled_from(["\x1b[", "\x9b"]),
    st.sampled_from(["", "", "", "?", ">", "<", "=", "?>"]),
    st.lists(NUMBER, max_size=4),
    st.sampled_from(["", "", "", "$", " ", "!", '"', "\n", "\x07", "\x18", "\x1b"]),
    st.sampled_from([*"@ABCDEFGHIJKLMPSTXZ`abcdefghlmnpqrstux", "", "é"]),
)
MODE = st.builds(
    lambda number, final: f"\x1b[?{number}{final}",
    st.sampled_from([1, 3, 5, 6, 7, 25, 47, 1047, 1048, 1049, 2004, 2026]),
    st.sampled_from("hl"),
)
STRINGS = st.builds(
    lambda opening, payload, end: opening + payload + end,
    st.sampled_from(["\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x9d", "\x90"]),
    st.one_of(
        st.sampled_from(
            ["0;title", "10;?", "4;1;?", "7501;state=done", "+q544e", "$qm", "52;c;?", "x\ny"]
        ),
        st.text(max_size=20),
        st.just("y" * (STRING_LIMIT + 3)),
        st.just("z\n" * STRING_LIMIT),
    ),
    st.sampled_from(["\x07", "\x1b\\", "\x9c", "\x18", "", "\x1b[m"]),
)
ESCAPES = st.sampled_from([*"78DEMHc=>", "(0", "(B", ")0", "#8", "%G", "\x1b", "\n[", ""]).map(
    lambda text: "\x1b" + text
)
CONTROLS = st.sampled_from([*"\r\n\t\b\a\v\f\x0e\x0f\x00\x7f\x84\x85\x8d\x9c"])
PRINTED = st.one_of(
    st.text(alphabet="abc xyz", max_size=30),
    st.sampled_from(
        [
            "漢字",
            "👨‍👩‍👧‍👦",
            "⚠️",
            "🇩🇪",
            "1️⃣",
            "👍🏽",
            "é",
            "\u200d",
            "\ufe0f",
            "\u200b",
            "\xad",
            "ﷺ",
            "가",
            "─" * 9,
        ]
    ),
    st.text(max_size=5),
)
STREAM = st.lists(st.one_of(PRINTED, CSI, MODE, STRINGS, ESCAPES, CONTROLS), max_size=40).map(
    "".join
)
ANY_BYTES = st.one_of(
    STREAM.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=300),
    st.builds(lambda a, b: a.encode("utf-8", "surrogatepass") + b, STREAM, st.binary(max_size=9)),
)
SIZES = st.tuples(st.integers(1, 20), st.integers(1, 8))


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(edges)]


def state(screen: Screen) -> tuple[object, ...]:
    return (
        screen.lines(),
        screen.cursor,
        screen.title,
        screen.bells,
        screen.alternate,
        screen.cursor_visible,
        screen.bracketed_paste,
        screen.synchronized,
        list(screen.events),
    )


@given(ANY_BYTES, SIZES)
@settings(max_examples=200, deadline=None)
def test_no_bytes_make_it_raise_and_every_row_keeps_its_width(
    data: bytes, size: tuple[int, int]
) -> None:
    screen = Screen(*size)
    screen.feed(data)
    assert len(screen.display()) == screen.rows == len(screen.picture())
    for row in screen._grid.lines:  # the one invariant that everything else stands on
        assert len(row.chars) == len(row.styles) == screen.cols
        assert all(char or (i and row.chars[i - 1]) for i, char in enumerate(row.chars))
    x, y = screen.cursor
    assert 0 <= x < screen.cols
    assert 0 <= y < screen.rows


@given(ANY_BYTES, st.lists(st.integers(0, 10_000), max_size=6), SIZES)
@settings(max_examples=200, deadline=None)
def test_where_the_bytes_are_cut_changes_nothing(
    data: bytes, cuts: list[int], size: tuple[int, int]
) -> None:
    whole, cut = Screen(*size), Screen(*size)
    answers = whole.feed(data)
    assert b"".join(cut.feed(piece) for piece in pieces(data, cuts)) == answers
    assert state(cut) == state(whole)


@given(ANY_BYTES)
@settings(max_examples=100, deadline=None)
def test_byte_by_byte_gives_the_same_as_all_at_once(data: bytes) -> None:
    whole, single = Screen(12, 4), Screen(12, 4)
    answers = whole.feed(data)
    assert b"".join(single.feed(bytes([byte])) for byte in data) == answers
    assert state(single) == state(whole)


@given(ANY_BYTES, st.lists(st.integers(0, 10_000), max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_driver_that_draws_late_sends_the_same_answers(data: bytes, cuts: list[int]) -> None:
    eager, lazy, signals = Screen(12, 4), Screen(12, 4, answers=False), Signals(12, 4)
    sent = b""
    for piece in pieces(data, cuts):
        fed = 0
        for signal in signals.feed(piece):
            sent += signal.answer
            if signal.kind == "cursor":
                upto = len(piece) - signal.behind
                assert lazy.feed(piece[fed:upto]) == b""
                fed = upto
                sent += lazy.cursor_report(signal.text)
        assert lazy.feed(piece[fed:]) == b""
    assert sent == b"".join(eager.feed(piece) for piece in pieces(data, cuts))
    assert state(lazy) == state(eager)


@given(ANY_BYTES, st.lists(st.integers(0, 10_000), max_size=6))
@settings(max_examples=200, deadline=None)
def test_where_the_bytes_are_cut_changes_no_signal(data: bytes, cuts: list[int]) -> None:
    whole, cut = Signals(12, 4), Signals(12, 4)
    wanted = [replace(signal, behind=0) for signal in whole.feed(data)]
    found = [signal for piece in pieces(data, cuts) for signal in cut.feed(piece)]
    assert [replace(signal, behind=0) for signal in found] == wanted
    assert (cut.title, cut.bracketed_paste) == (whole.title, whole.bracketed_paste)


@given(ANY_BYTES, st.lists(SIZES, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_it_can_be_resized_in_the_middle_of_anything(
    data: bytes, sizes: list[tuple[int, int]]
) -> None:
    screen = Screen(10, 5)
    for cols, rows in sizes:
        screen.feed(data)
        screen.resize(cols, rows)
        screen.feed(data)
        assert len(screen.display()) == max(1, rows)
        assert all(len(row.chars) == screen.cols for row in screen._grid.lines)


def held_bytes(screen: Screen) -> int:
    """What it holds of sequences that did not end."""
    tokens = screen._tokens
    return len(tokens._held) + sum(map(len, tokens._payload))


def test_strings_that_never_end_are_not_collected() -> None:
    for opening in (b"\x1b]0;", b"\x1bP", b"\x1b_", b"\x1b[", b"\x1b", b"\x1b["):
        screen = Screen(20, 5)
        for _ in range(200):
            screen.feed(opening + b"1;" * 5_000)
            assert held_bytes(screen) <= STRING_LIMIT


def test_marks_cannot_be_piled_up_in_a_cell_without_end() -> None:
    screen = Screen(20, 5)
    screen.feed(b"e" + "\u0301".encode() * 100_000)
    assert len(screen.display()[0]) <= CLUSTER_LIMIT


def test_events_and_scrollback_are_bounded() -> None:
    screen = Screen(20, 5, history_lines=100)
    screen.feed(b"\x1b]9;notice\x07line\r\n" * 5_000)
    assert len(screen.events) == EVENTS_KEPT
    assert len(screen.lines()) == 105


def test_a_stream_that_asks_for_much_gets_little() -> None:
    screen = Screen(80, 24)
    answers = screen.feed(b"\x1b]4" + b";1;?" * 10_000 + b"\x07" + b"a\x1b[9999999b" * 50)
    assert len(answers) < 256 * 40
    assert sys.getsizeof(screen.lines()) < 2**20
