"""A program that asks its terminal gets an answer, or on purpose none."""

import pytest

from adapters.screen.screen import Screen
from adapters.screen.signals import Signal, Signals

ANSWERS = [
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b[0c", "\x1b[?62;22c"),
    ("\x1b[>c", "\x1b[>0;10;1c"),
    ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
    ("\x1b[>0q", "\x1bP>|moot 1.0\x1b\\"),
    ("\x1b[>q", "\x1bP>|moot 1.0\x1b\\"),
    ("\x1b[5n", "\x1b[0n"),
    ("\x1b[?996n", "\x1b[?997;1n"),
    ("\x1b[?2004$p", "\x1b[?2004;2$y"),
    ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
    ("\x1b[?7$p\x1b[?25$p", "\x1b[?7;1$y\x1b[?25;1$y"),
    ("\x1b[?2026$p", "\x1b[?2026;2$y"),
    ("\x1b[?25l\x1b[?25$p\x1b[!p\x1b[?25$p", "\x1b[?25;2$y\x1b[?25;1$y"),
    ("\x1b[?2004h\x1bc\x1b[?2004$p", "\x1b[?2004;2$y"),
    ("\x1b[?4242$p", "\x1b[?4242;0$y"),
    ("\x1b]10;?\x07", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
    ("\x1b]12;?\x07", "\x1b]12;rgb:ffff/ffff/ffff\x1b\\"),
    ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\"),
    (
        "\x1b]4;16;?;231;?\x07",
        "\x1b]4;16;rgb:0000/0000/0000\x1b\\\x1b]4;231;rgb:ffff/ffff/ffff\x1b\\",
    ),
    ("\x1b]4;255;?\x07", "\x1b]4;255;rgb:eeee/eeee/eeee\x1b\\"),
    ("\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"),
    ("\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"),
    ("\x1b[14t", "\x1b[4;480;800t"),
    ("\x1b[16t", "\x1b[6;20;10t"),
    ("\x1b[18t", "\x1b[8;24;80t"),
]
SILENCE = ["\x1b[21t", "\x1b]52;c;?\x07", "\x1b[?u", "\x1b_Gi=1,a=q;AAAA\x1b\\", "\x1b]0;?\x07"]


@pytest.mark.parametrize(("query", "answer"), ANSWERS)
def test_the_screen_answers(query: str, answer: str) -> None:
    assert Screen(80, 24).feed(query.encode()) == answer.encode()


@pytest.mark.parametrize(("query", "answer"), ANSWERS)
def test_the_scan_of_raw_bytes_gives_the_same_answers(query: str, answer: str) -> None:
    signals = Signals(80, 24).feed(query.encode())
    assert b"".join(signal.answer for signal in signals) == answer.encode()


@pytest.mark.parametrize("query", SILENCE)
def test_nobody_answers(query: str) -> None:
    assert Screen(80, 24).feed(query.encode()) == b""
    assert all(not signal.answer for signal in Signals(80, 24).feed(query.encode()))


def test_the_cursor_is_reported_where_it_was_when_the_program_asked() -> None:
    assert Screen(80, 24).feed(b"ab\x1b[6n\r\ncd\x1b[?6n") == b"\x1b[1;3R\x1b[?2;3;1R"
    assert Screen(80, 24).feed(b"\x1b[5;9r\x1b[?6h\x1b[2;3H\x1b[6n") == b"\x1b[2;3R"
    assert Screen(5, 2).feed(b"abcde\x1b[6n") == b"\x1b[1;5R"


def test_answers_come_in_the_order_of_the_questions() -> None:
    assert Screen(80, 24).feed(b"\x1b[5n\x1b[6n\x1b[5n") == b"\x1b[0n\x1b[1;1R\x1b[0n"


def test_a_screen_that_shall_not_answer_keeps_silent() -> None:
    screen = Screen(80, 24, answers=False)
    assert screen.feed(b"\x1b[c\x1b[6nabc") == b""
    assert screen.cursor_report() == b"\x1b[1;4R"


def test_a_new_size_is_what_both_tell() -> None:
    screen, signals = Screen(80, 24), Signals(80, 24)
    screen.resize(100, 30)
    signals.resize(100, 30)
    assert screen.feed(b"\x1b[18t") == signals.feed(b"\x1b[18t")[0].answer == b"\x1b[8;30;100t"


# ── Signals ─────────────────────────────────────────────────────────────────────────────


def test_signals_are_told_in_order_with_the_bytes_behind_them() -> None:
    data = (
        "text\x1b]0;⠂ Busy\x07漢\x07\x1b[?2004;2026hx\x1b[6né\x1b]7501;state=idle\x1b\\z".encode()
    )
    assert Signals(80, 24).feed(data) == [
        Signal("title", "⠂ Busy", behind=len(data) - data.index("漢".encode())),
        Signal("bell", behind=len(data) - data.index(b"\x1b[?")),
        Signal("mode", number=2004, on=True, behind=len(data) - data.index(b"x\x1b[6n")),
        Signal("mode", number=2026, on=True, behind=len(data) - data.index(b"x\x1b[6n")),
        Signal("cursor", "6n", behind=len(data) - data.index("é".encode())),
        Signal("osc", "state=idle", 7501, behind=1),
    ]


def test_signals_may_be_cut_anywhere() -> None:
    data = "a\x1b]0;⠂ Büsy\x1b\\\x1b[?2004h\x1b]9;done\x07\x1b[c".encode()
    signals = Signals(80, 24)
    found = [signal for byte in data for signal in signals.feed(bytes([byte]))]
    assert [(s.kind, s.text, s.number, s.behind) for s in found] == [
        ("title", "⠂ Büsy", 0, 0),
        ("mode", "", 2004, 0),
        ("osc", "done", 9, 0),
        ("query", "c", 0, 0),
    ]
    assert signals.title == "⠂ Büsy"
    assert signals.bracketed_paste


def test_what_a_string_holds_is_no_signal() -> None:
    assert Signals(80, 24).feed(b"\x1bPtmux;\x07\x1b\\\x1b_x\x07y\x1b\\") == []


def test_bytes_that_are_no_text_do_not_shift_what_is_behind() -> None:
    data = b"\xff\xfe\x1b[6n\xff\xe2\x82"
    assert Signals(80, 24).feed(data) == [Signal("cursor", "6n", behind=3)]


def test_the_alternate_screen_and_frames_are_known_without_drawing() -> None:
    signals = Signals(80, 24)
    signals.feed(b"\x1b[?1049h\x1b[?2026h")
    assert signals.alternate
    assert signals.synchronized
    signals.feed(b"\x1b[?2026l\x1b[?1049l")
    assert not signals.alternate
    assert not signals.synchronized
