"""What other emulators stumble over, pyte 0.8.2 in front: each of it once raised or leaked."""

import pytest

from adapters.screen.screen import Screen


def fed(text: str) -> Screen:
    screen = Screen(40, 5)
    screen.feed(text.encode())
    return screen


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[?6n",
        "\x1b[?996n",
        "\x1b[?4m",
        "\x1b[>4;?m",
        "\x1b[?1r",
        "\x1b[1;2;3H\x1b[H",
        "\x1b[4J",
        "\x1b[22J",
        "\x1b[3K",
        "\x1b[?6h\x1b[6n\x1b[?6l",
        "\x1b[²A",
        f"\x1b[{'9' * 5_000}A",
        f"\x1b[{'9' * 100}A\x1b[H",
        "\x1b[<u",
        "\x1b[>1u",
        "\x1b[=1;1u",
        "\x1b[!p",
        "\x1b[4:3m\x1b[m",
        "\x1b[38:2::1:2:3m\x1b[m",
        "\x1b[38;5m\x1b[38;2;1m\x1b[m",
        "\x1b[ q\x1b[0 q",
        "\x1b[?2026$p",
        "\x1bP1;2q#0;2;0;0;0~~\x1b\\",
        "\x1b_Gi=1;AAAA\x1b\\",
        "\x1b^private\x1b\\",
        "\x1bXstart of string\x1b\\",
        "\x1b]52;c;aGk=\x07",
        "\x1b]8;;https://example.com\x1b\\\x1b]8;;\x1b\\",
        "\x1b]1337;File=inline=1:AAAA\x07",
        "\x1b]66;s=2;x\x07",
        "\x9b1m\x9bm",
        "\x9d0;title\x9c",
        "\x90q\x9c",
    ],
)
def test_it_shows_nothing_of(sequence: str) -> None:
    if "²" in sequence or len(sequence) > 300:
        screen = fed(f"{sequence}\x1b[m\x1b[2J\x1b[Hab")
    else:
        screen = fed(f"{sequence}\x1b[Hab")
    assert screen.display() == ["ab", "", "", "", ""]
    assert screen.picture()[0] == [("ab", "")]


@pytest.mark.parametrize(
    "text", ["a\u200bb", "a\u200db", "a\u2060b", "a\xadb", "⚠️ warn", "👨‍👩‍👧 family", "x\ufeffy"]
)
def test_it_loses_nothing_behind(text: str) -> None:
    assert fed(f"{text} and more").display()[0] == f"{text} and more"


def test_private_sgr_is_no_underline() -> None:
    assert fed("\x1b[>4;2m\x1b[?4mx").picture()[0] == [("x", "")]


def test_the_display_survives_half_a_wide_character() -> None:
    assert fed("漢字\x1b[1;2Hx\x1b[1;4H\x1b[K").display()[0] == " x"
    assert fed("a漢\x1b[1;3H\x1b[1P").display()[0] == "a"
    assert fed("a漢b\x1b[1;3H\x1b[1@").display()[0] == "a   b"


def test_the_whole_number_of_an_osc_counts() -> None:
    screen = fed("\x1b]0;title\x07\x1b]01x;no\x07\x1b]10;?\x07\x1b]2026;no\x07")
    assert screen.title == "title"


@pytest.mark.parametrize("opening", ["\x1b]0;never ends", "\x1bPnever", "\x1b_never", "\x1b]"])
def test_a_string_without_an_end_ends_at_the_next_sequence(opening: str) -> None:
    screen = fed(f"{opening}\x1b[2Jshown")
    assert screen.display()[0].strip() == "shown"
    assert screen.title == ""


@pytest.mark.parametrize("cancel", ["\x18", "\x1a"])
def test_a_sequence_may_be_cancelled(cancel: str) -> None:
    assert fed(f"\x1b[31{cancel}a\x1b]0;t{cancel}b").picture()[0] == [("ab", "")]


def test_a_long_osc_without_an_end_takes_one_line_and_not_everything() -> None:
    screen = fed("\x1b]0;never ends\r\n" + "line\r\n" * 3_000 + "last")
    assert screen.display()[-1] == "last"
    assert screen.lines()[0].text == "line"


def test_a_long_string_that_ends_is_swallowed_whole() -> None:
    assert fed("\x1bPq" + "~" * 100_000 + "\x1b\\after").display()[0] == "after"


def test_controls_inside_a_sequence_work_as_if_they_stood_before_it() -> None:
    assert fed("a\x1b[\r3\n1mb").display()[:2] == ["a", "b"]
    assert fed("a\x1b\r[31mb").picture()[0] == [("b", "fg-1")]


def test_a_sequence_that_meets_text_is_broken_off_there() -> None:
    assert fed("\x1b[3漢").display()[0] == "漢"


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    screen = Screen(20, 2)
    screen.feed(b"a\xffb\xc3(c\xe2\x82")
    screen.feed(b"\xacd")
    assert screen.display()[0] == "a\ufffdb\ufffd(c€d"


def test_erasing_behind_a_full_row_erases_nothing_of_it() -> None:
    """Programs write a whole row and then erase what is left of it."""
    screen = Screen(5, 2)
    screen.feed(b"abcde\x1b[K\r\nx")
    assert screen.display() == ["abcde", "x"]
