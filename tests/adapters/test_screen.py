"""An emulated terminal shows what a real one would."""

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.screen.screen import Osc, Screen

FAMILY, FLAG, RAINBOW = "👨‍👩‍👧‍👦", "🇩🇪", "🏳️‍🌈"


def fed(text: str, cols: int = 20, rows: int = 5) -> Screen:
    screen = Screen(cols, rows)
    screen.feed(text.encode())
    return screen


def shown(text: str, cols: int = 20, rows: int = 5) -> list[str]:
    """The rows, blank ones at the end left out."""
    display = fed(text, cols, rows).display()
    while display and not display[-1]:
        display.pop()
    return display


# ── Text ────────────────────────────────────────────────────────────────────────────────


def test_lines_stand_below_one_another() -> None:
    assert shown("one\r\ntwo\r\n\r\nfour") == ["one", "two", "", "four"]


def test_a_line_feed_alone_keeps_the_column() -> None:
    assert shown("one\ntwo") == ["one", "   two"]


def test_what_passes_the_margin_goes_on_in_the_next_row() -> None:
    assert shown("abcdefgh", cols=5) == ["abcde", "fgh"]


def test_a_full_row_wraps_only_when_more_is_written() -> None:
    assert shown("abcde\r\nfgh", cols=5) == ["abcde", "fgh"]


def test_lines_that_the_terminal_wrapped_are_one_line_of_text() -> None:
    screen = fed("one long line\r\nanother", cols=5, rows=9)
    assert screen.text()[:2] == ["one long line", "another"]


def test_a_blank_at_the_margin_is_kept_when_the_line_goes_on() -> None:
    assert fed("word more", cols=5).text()[0] == "word more"


def test_a_row_that_is_written_anew_no_longer_goes_on() -> None:
    assert fed("abcdefgh\x1b[1;1H\x1b[2Kab\x1b[3;1H", cols=5).text()[:2] == ["ab", "fgh"]


def test_without_autowrap_the_last_column_is_overwritten() -> None:
    assert shown("\x1b[?7labcdefgh", cols=5) == ["abcdh"]


def test_tabs_go_to_the_next_stop() -> None:
    assert shown("a\tb\r\n\x1b[3g\x1b[5G\x1bH\ra\tb") == ["a       b", "a   b"]


# ── Wide characters, clusters ───────────────────────────────────────────────────────────


def test_wide_characters_take_two_columns() -> None:
    assert fed("漢字x").cursor == (5, 0)
    assert shown("漢字x\x1b[1;3H語") == ["漢語x"]


def test_half_of_a_wide_character_that_is_overwritten_leaves_a_blank() -> None:
    assert shown("漢字\x1b[1;2Hx") == [" x字"]
    assert shown("漢字\x1b[1;3Hx") == ["漢x"]


def test_a_wide_character_that_does_not_fit_goes_to_the_next_row_whole() -> None:
    screen = fed("abcd漢字", cols=5)
    assert screen.display()[:2] == ["abcd", "漢字"]
    assert screen.text()[0] == "abcd漢字"


@pytest.mark.parametrize("cluster", [FAMILY, FLAG, RAINBOW, "⚠️", "❤️", "1️⃣", "👍🏽", "✅", "한"])
def test_an_emoji_is_whole_and_takes_two_columns(cluster: str) -> None:
    screen = fed(f"a{cluster}b")
    assert screen.display()[0] == f"a{cluster}b"
    assert screen.cursor == (4, 0)


@pytest.mark.parametrize(
    "text", ["e\u0301 n\u0303", "Z͑ͫ̓x", "שָׁלוֹם", "a\u200bb", "c\u2060d", "soft\xadhyphen"]
)
def test_marks_and_what_has_no_width_stay_where_they_belong(text: str) -> None:
    assert shown(text) == [text]


def test_what_has_no_width_at_a_rows_beginning_waits_for_its_character() -> None:
    assert shown("\u200fab") == ["\u200fab"]


def test_an_emoji_may_come_in_pieces() -> None:
    screen = Screen(20, 5)
    for byte in f"x{FAMILY}{FLAG}1️⃣y".encode():
        screen.feed(bytes([byte]))
    assert screen.display()[0] == f"x{FAMILY}{FLAG}1️⃣y"


def test_flags_beside_one_another_are_pairs() -> None:
    assert fed("🇩🇪🇫🇷").cursor == (4, 0)


def test_line_drawing_and_control_pictures_are_supported() -> None:
    assert shown("\x1b(0lqqk\x1b(B lqqk ␛") == ["┌──┐ lqqk ␛"]
    assert shown("\x1b)0\x0eqx\x0fqx") == ["─│qx"]


# ── Erasing and moving ──────────────────────────────────────────────────────────────────

ABC = "aaaaa\r\nbbbbb\r\nccccc"


@pytest.mark.parametrize(
    ("sequence", "rows"),
    [
        ("\x1b[2;3H\x1b[K", ["aaaaa", "bb", "ccccc"]),
        ("\x1b[2;3H\x1b[1K", ["aaaaa", "   bb", "ccccc"]),
        ("\x1b[2;3H\x1b[2K", ["aaaaa", "", "ccccc"]),
        ("\x1b[2;3H\x1b[J", ["aaaaa", "bb"]),
        ("\x1b[2;3H\x1b[1J", ["", "   bb", "ccccc"]),
        ("\x1b[2;3H\x1b[2J", []),
        ("\x1b[2;3H\x1b[2X", ["aaaaa", "bb  b", "ccccc"]),
        ("\x1b[2;3H\x1b[2@", ["aaaaa", "bb  bbb", "ccccc"]),
        ("\x1b[2;3H\x1b[2P", ["aaaaa", "bbb", "ccccc"]),
        ("\x1b[2;3H\x1b[L", ["aaaaa", "", "bbbbb", "ccccc"]),
        ("\x1b[2;3H\x1b[M", ["aaaaa", "ccccc"]),
        ("\x1b[2S", ["ccccc"]),
        ("\x1b[2T", ["", "", "aaaaa", "bbbbb", "ccccc"]),
        ("\x1b[1;1H\x1b[4hXY\x1b[4lZ", ["XYZaaaa", "bbbbb", "ccccc"]),
        ("\x1b[2;1Hx\x1b[4b", ["aaaaa", "xxxxx", "ccccc"]),
        ("\x1b[2;3r\x1b[3;1H\nd", ["aaaaa", "ccccc", "d"]),
        ("\x1b[2;3r\x1b[2;1H\x1bMd", ["aaaaa", "d", "bbbbb"]),
        ("\x1b[2;3r\x1b[?6h\x1b[1;1Hd", ["aaaaa", "dbbbb", "ccccc"]),
        ("\x1b7\x1b[1;1Hx\x1b8y", ["xaaaa", "bbbbb", "cccccy"]),
        ("\x1b[s\x1b[1;1Hx\x1b[uy", ["xaaaa", "bbbbb", "cccccy"]),
        ("\x1b[A\x1b[3D\x1b[Cx\x1b[By\x1b[1Ez", ["aaaaa", "bbbxb", "ccccy", "z"]),
        ("\x1b[2Fx\x1b[5Gy\x1b[3dz", ["xaaay", "bbbbb", "cccccz"]),
        ("\x1b[1;20H\x1b[Zx", ["aaaaa" + " " * 11 + "x", "bbbbb", "ccccc"]),
        ("\x1bcnew", ["new"]),
    ],
)
def test_rows_after(sequence: str, rows: list[str]) -> None:
    assert shown(ABC + sequence) == rows


# ── Scrollback and the alternate screen ─────────────────────────────────────────────────


def test_lines_that_leave_the_top_are_kept() -> None:
    screen = fed("".join(f"line {i}\r\n" for i in range(8)), rows=3)
    assert [line.text for line in screen.lines()] == [*(f"line {i}" for i in range(8)), ""]


def test_lines_that_leave_a_region_at_the_top_of_the_screen_are_kept() -> None:
    """Codex writes its history so, above an input box that stays."""
    screen = fed("a\r\nb\r\nc\r\nbox\x1b[1;3r\x1b[3;1H\r\nd\r\ne", rows=4)
    assert [line.text for line in screen.lines()] == ["a", "b", "c", "d", "e", "box"]


def test_a_region_further_down_keeps_nothing() -> None:
    screen = fed("a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\n\n", rows=4)
    assert [line.text for line in screen.lines()] == ["a", "", "", ""]


def test_a_program_may_erase_the_scrollback() -> None:
    screen = fed("a\r\n" * 9 + "\x1b[2J\x1b[3J\x1b[Hnew", rows=3)
    assert screen.text() == ["new", "", ""]


def test_a_wrapped_line_is_one_line_in_the_scrollback_too() -> None:
    screen = fed("a long line that wraps\r\n" + "x\r\n" * 6, cols=8, rows=3)
    assert screen.text()[0] == "a long line that wraps"


@pytest.mark.parametrize("mode", [47, 1047, 1049])
def test_the_alternate_screen_hides_the_main_one_and_keeps_no_scrollback(mode: int) -> None:
    screen = fed(f"main\x1b[?{mode}h\x1b[Hother\r\n" + "x\r\n" * 9, rows=3)
    assert screen.alternate
    assert "main" not in screen.display()
    screen.feed(f"\x1b[?{mode}l".encode())
    assert not screen.alternate
    assert screen.text() == ["main", "", ""]


def test_mode_1049_brings_the_cursor_back() -> None:
    assert shown("abc\x1b[?1049h\x1b[3;3Hx\x1b[?1049ld") == ["abcd"]


def test_a_smaller_screen_keeps_the_cursors_row_and_a_larger_one_everything() -> None:
    screen = fed("a\r\nb\r\nc\r\nd", rows=5)
    screen.resize(20, 2)
    assert screen.display() == ["c", "d"]
    assert [line.text for line in screen.lines()] == ["a", "b", "c", "d"]
    screen.resize(30, 4)
    assert screen.display() == ["c", "d", "", ""]


# ── What it tells ───────────────────────────────────────────────────────────────────────


def test_titles_bells_modes_and_notices_are_told() -> None:
    screen = fed("\x1b]0;✳ A title\x07\x07\x1b[?2004h\x1b[?25l\x1b[?2026h\x1b]9;done\x07")
    screen.feed(b"\x1b]7501;state=working:app=codex\x1b\\\x1b]133;A\x07")
    assert screen.title == "✳ A title"
    assert screen.bells == 1
    assert screen.bracketed_paste
    assert not screen.cursor_visible
    assert screen.synchronized
    assert list(screen.events) == [
        Osc(9, "done"),
        Osc(7501, "state=working:app=codex"),
        Osc(133, "A"),
    ]


def test_a_title_has_no_control_characters() -> None:
    assert fed("\x1b]2;a\x01b\nc\x07").title == "abc"


@pytest.mark.parametrize(
    ("sgr", "classes"),
    [
        ("1;3;4", "b i u"),
        ("2;7;9", "dim rev s"),
        ("1;22", ""),
        ("31", "fg-1"),
        ("94;41", "fg-12 bg-1"),
        ("38;5;9", "fg-9"),
        ("38;5;16", "fg-x000000"),
        ("38;5;231", "fg-xffffff"),
        ("38;5;244", "fg-x808080"),
        ("38;2;1;2;3;1", "b fg-x010203"),
        ("38:2::255:0:16", "fg-xff0010"),
        ("38:2:255:0:16", "fg-xff0010"),
        ("48:5:2", "bg-2"),
        ("4:3", "u"),
        ("4:0", ""),
        ("58;5;1;1", "b"),
        ("1;0", ""),
        ("1;", ""),
    ],
)
def test_the_picture_has_classes_for(sgr: str, classes: str) -> None:
    assert fed(f"\x1b[{sgr}mx").picture()[0] == [("x", classes)]


def test_the_picture_is_made_of_runs() -> None:
    row = fed("a\x1b[1mbc\x1b[md").picture()[0]
    assert row == [("a", ""), ("bc", "b"), ("d", "")]


# ── A witness, where it does as terminals do: no rows full to the margin ────────────────────

PLAIN = st.lists(
    st.one_of(
        st.text(alphabet="abcdefgh ", min_size=1, max_size=6),
        st.sampled_from(["\r\n", "\r", "\n", "\b", "\t", "\x1bM", "\x1bD"]),
        st.builds("\x1b[{}{}".format, st.integers(1, 9), st.sampled_from("ABCDEFGPX@d")),
        st.builds("\x1b[{};{}H".format, st.integers(1, 6), st.integers(1, 12)),
        st.builds("\x1b[{}{}".format, st.integers(0, 2), st.sampled_from("JK")),
    ),
    max_size=30,
).map("".join)


@given(PLAIN)
@settings(max_examples=300, deadline=None)
def test_plain_streams_look_as_in_pyte(stream: str) -> None:
    witness = pyte.Screen(200, 6)
    pyte.Stream(witness).feed(stream)
    assert fed(stream, 200, 6).display() == [row.rstrip() for row in witness.display]
