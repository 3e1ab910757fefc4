"""Long texts in pieces: nothing torn, nothing lost."""

import string

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.markdown.split import pieces, split
from bots.slack.text import LIMIT_BYTES, mrkdwn, size_bytes

FRAGMENTS = [
    *("# h", "text *a* **b**", "- a", "  - b", "    - c", "1. x", "10. y", "> q", "> > r", ""),
    *(
        "```py",
        "```",
        "~~~~",
        "~~~~ js",
        "> ```",
        "  ```",
        "      ```sh",
        "    code",
        "",
        "==",
        "---",
    ),
    *(
        "| a | b |",
        "|---|---|",
        "| c | d |",
        "long " * 30,
        "漢字" * 40,
        "👨‍👩‍👧‍👦" * 20,
        "e\u0301" * 50,
    ),
    *("[l](http://x/" + "y" * 60 + ")", "<b>&amp;", "- [ ] t", "***", "* *", "x" * 300, "\t- tab"),
    *("<@U123>", "  \t", "[a\nb](http://x)", "a\r\nb", "c\rd", "\u2028", "`code` x", "1) z"),
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=50).map("\n".join),
    st.sampled_from([150, 200, 500]),
    st.sampled_from([len, size_bytes]),
)
def test_the_bodies_put_together_are_the_text_and_each_piece_fits(
    text: str, limit: int, size: object
) -> None:
    assert callable(size)
    cut = pieces(text, limit, size)
    assert "".join(piece.body for piece in cut) == text
    assert all(size(piece.text) <= limit for piece in cut)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab *_~`[]()<>|#-+.>0 1\n\n\t\\:!\r&@^\"'漢é\u0301", max_size=300))
def test_no_letter_is_lost_on_the_way_to_slack(text: str) -> None:
    shown = mrkdwn(text).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    unread = [c for c in text if c.isalnum() and "```" not in text and "~~~" not in text]
    assert not [c for c in set(unread) if shown.count(c) < unread.count(c)]
    assert "".join(piece.body for piece in pieces(text, 150)) == text


def fence_lines_balance(piece: str) -> bool:
    return sum(line.startswith("```") for line in piece.split("\n")) % 2 == 0


def test_481_lines_of_code_through_2000_characters_are_not_torn_and_not_changed() -> None:
    code = [f"    value[{n}] = compute({n}) < {n * 3}  # {'x' * (n % 40)}" for n in range(481)]
    cut = split("Here it is:\n\n```python\n" + "\n".join(code) + "\n```\n\nDone.", 2_000)
    assert len(cut) > 10
    assert all(len(piece) <= 2_000 and fence_lines_balance(piece) for piece in cut)
    inside = [line for piece in cut for line in piece.split("\n") if line.startswith("    value")]
    assert inside == code
    assert all(piece.startswith("```python\n") for piece in cut[1:])


def test_code_that_fits_a_post_goes_whole_into_the_next_one() -> None:
    block = "```\n" + "code\n" * 30 + "```\n"
    cut = split("word " * 20 + "\n\n" + block + "\nend " + "word " * 30, 200)
    assert block.strip() in [piece.strip() for piece in cut]


def test_a_tilde_fence_with_a_fence_inside_is_closed_by_tildes() -> None:
    cut = split("~~~~md\n" + "```py\nx = 1\n```\n" * 40 + "~~~~\n", 200)
    assert len(cut) > 2
    assert all(piece.startswith("~~~~md\n") and piece.endswith("~~~~\n") for piece in cut)


def test_a_fence_in_a_nested_list_keeps_its_indent_and_stays_code_in_every_post() -> None:
    text = "1. a\n    - x\n      ```py\n" + "      call()\n" * 60 + "      ```\n    - y\n2. b\n"
    cut = split(text, 300)
    assert all(piece.startswith("      ```py\n") for piece in cut[1:])
    written = [mrkdwn(piece) for piece in cut]
    assert sum(piece.split("\n").count("call()") for piece in written) == 60
    assert written[-1].endswith("```\n• y\n2. b")


def test_a_fence_in_a_quote_keeps_its_sign() -> None:
    cut = split("> ```\n" + "> line of code\n" * 60 + "> ```\n", 300)
    assert all(piece.startswith("> ```\n") and piece.endswith("> ```\n") for piece in cut)


def test_a_row_of_a_table_is_not_torn_and_its_header_stays_with_it() -> None:
    rows = [f"| name {n} | {'value ' * (n % 5)}| {n} |" for n in range(80)]
    text = "Intro.\n\n| a | b | c |\n|---|---|--:|\n" + "\n".join(rows) + "\n\nEnd."
    cut = split(text, LIMIT_BYTES // 4, size_bytes)
    assert [
        line for piece in cut for line in piece.split("\n") if line.startswith("| name")
    ] == rows
    assert "| a | b | c |\n|---|---|--:|\n| name 0" in "".join(cut[:2])
    assert all("```" in mrkdwn(piece) for piece in cut)


def test_cuts_are_between_blocks_where_there_is_room() -> None:
    cut = split("\n\n".join("A sentence of words. " * 4 for _ in range(10)), 250)
    assert all(piece.endswith("\n\n") for piece in cut[:-1])


def test_a_line_longer_than_a_post_is_cut_after_a_sentence_or_a_word() -> None:
    assert all(p.endswith(". ") for p in split("One two three. " * 60, 200)[:-1])
    assert all(p.endswith(" ") for p in split("word " * 200, 203)[:-1])


def test_a_link_and_a_code_span_are_not_torn() -> None:
    link = "[the very long label of a link](https://example.com/" + "p" * 60 + ")"
    cut = split("word " * 30 + link + " word" * 30 + " `a b c d e f g h`" * 20, 200)
    assert any(link in piece for piece in cut)
    assert all(piece.count("`") % 2 == 0 for piece in cut)


def test_a_grapheme_is_not_torn() -> None:
    family = "👨‍👩‍👧‍👦"
    cut = split(family * 100 + "\n```\n" + "e\u0301" * 300 + "\n```", 160)
    inside = "".join(cut).replace("```", "").replace("\n", "")
    assert inside == family * 100 + "e\u0301" * 300
    for piece in cut:
        assert not regex.match(r"\p{M}|\u200d", piece)
        assert not piece.endswith("\u200d")


def test_a_line_of_code_longer_than_a_post_is_code_in_both() -> None:
    cut = pieces("```\n" + string.ascii_letters * 20 + "\n```\n", 300)
    assert "".join(p.body for p in cut) == "```\n" + string.ascii_letters * 20 + "\n```\n"
    assert all(p.text.startswith("```\n") and p.text.rstrip("\n").endswith("\n```") for p in cut)


def test_no_post_is_blank() -> None:
    for text in ("x" * 300 + "\n", "x" * 300 + "\n" * 300, "a\n\n" * 100 + "\n\n\n"):
        assert all(piece.strip() for piece in split(text, 150))


@pytest.mark.parametrize("text", ["", "short", "a\n\nb\n"])
def test_a_short_text_is_one_piece(text: str) -> None:
    assert split(text, 100) == ([text] if text else [])


@pytest.mark.parametrize(
    "text",
    [
        "x" * 20_000 + "\n\n[a]\nb",
        "a\n\n" + "\n" * 20_000,
        " \t" * 10_000,
        "```\n" + "code\n" * 4_000 + "```\n\nb\n",
        "a " * 10_000,
        "- a\n" * 5_000,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_what_is_measured_for_it_grows_as_the_text_does(text: str) -> None:
    """Each measure writes what it is given, which takes as long as that is."""
    measured = 0

    def size(piece: str) -> int:
        nonlocal measured
        measured += len(piece)
        return len(piece)

    assert "".join(piece.body for piece in pieces(text, 200, size)) == text
    assert measured < 12 * len(text)
