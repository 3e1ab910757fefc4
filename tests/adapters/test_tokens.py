"""A stream of characters is cut into tokens, the same however it arrives."""

import pytest

from adapters.screen.tokens import ASCII, CONTROL, CSI, ESCAPE, OSC, STRING, TEXT, Tokenizer


def tokens(text: str) -> list[tuple[int, str]]:
    return [(kind, body) for kind, body, _ in Tokenizer().split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab漢\r", [(ASCII, "ab"), (TEXT, "漢"), (CONTROL, "\r")]),
        ("\x1b[?25h\x9b1;2H", [(CSI, "?25h"), (CSI, "1;2H")]),
        ("\x1b(0\x1b7\x85", [(ESCAPE, "(0"), (ESCAPE, "7"), (ESCAPE, "E")]),
        ("\x1b]0;a\x07\x1b]9;b\x1b\\\x9d2;c\x9c", [(OSC, "0;a"), (OSC, "9;b"), (OSC, "2;c")]),
        ("\x1bP+q1\x1b\\\x1b_a\x07b\x1b\\", [(STRING, "P+q1"), (STRING, "_a\x07b")]),
        ("\x1b]0;a\x1b[m", [(CSI, "m")]),
        ("\x1b[3\n1m", [(CONTROL, "\n"), (CSI, "31m")]),
        ("\x1b[1$2mx", [(ASCII, "x")]),
        ("\x1b[" + "1" * 300 + "mx", [(ASCII, "x")]),
        ("\x1b\x1b[m", [(CSI, "m")]),
        ("\x1b[3\x1b[m", [(CSI, "m")]),
        ("\x1b[3", []),
    ],
)
def test_tokens_of(text: str, expected: list[tuple[int, str]]) -> None:
    assert tokens(text) == expected


def test_it_says_how_much_is_behind_each() -> None:
    assert [left for *_, left in Tokenizer().split("ab\x1b[mc\x07d")] == [6, 3, 2, 1, 0]
