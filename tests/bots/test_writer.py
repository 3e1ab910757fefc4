"""The writer without a dialect: text for people who see no markup."""

import pytest

from bots.markdown.writer import PLAIN, aligned, quiet


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *b*", "A b"),
        ("**x** [t](https://x.y) ![a](https://i)", "x t (https://x.y) a (https://i)"),
        ("<https://x.y> <a@b.c>", "https://x.y a@b.c"),
        ("```py\nx *y*\n```", "x *y*"),
        ("- a\n  1. b\n> q", "• a\n    1. b\n> q"),
        ("a <b> &amp; `c`", "a <b> &amp; c"),
    ],
)
def test_markdown_becomes_plain_text(markdown: str, expected: str) -> None:
    assert PLAIN.write(markdown) == expected


def test_a_column_is_padded_so_far_and_no_further() -> None:
    rows = aligned([["a", "b"], ["x" * 500, "c"]], ["left", "left"], headed=True)
    assert rows == ["| a   | b   |", "|-----|-----|", "| " + "x" * 500 + " | c   |"]


def test_a_call_to_everyone_is_quiet_and_a_mail_address_is_itself() -> None:
    assert quiet("@all a@all.de @ALLtogether") == "@\u200ball a@all.de @ALLtogether"
