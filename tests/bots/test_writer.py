"""The writer without a dialect: text for people who see no markup."""

from collections.abc import Callable

import pytest

from bots.markdown.writer import PLAIN, aligned, quiet
from bots.matrix import text as matrix
from bots.rocketchat import text as rocketchat
from bots.slack import text as slack


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


@pytest.mark.parametrize("write", [PLAIN.write, rocketchat.written, slack.mrkdwn, matrix.written])
def test_a_table_of_many_rows_and_a_long_one_is_not_filled_up_by_the_square(
    write: Callable[[str], str],
) -> None:
    long = "|".join(f"c{number}" for number in range(3_000))
    text = "|a|\n|-|\n" + "|b|\n" * 3_000 + f"|{long}|\n"
    written = write(text)
    assert len(written) < 20 * len(text)
    assert all(f"c{number}" in written for number in range(3_000))
