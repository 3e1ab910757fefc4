"""Nobody is deceived by characters that look like others."""

from dataclasses import replace
from random import Random

import pytest

from composer.header import compose
from contract.looks import look, one_look, skeleton
from tests.doubles.forgeries import PLAIN, Forger, judge

HEADERS = 60


def test_a_sample_of_hostile_headers_deceives_nobody() -> None:
    """`python -m bench.forgery` does this with a million texts."""
    forger = Forger(Random(20260421))
    for _ in range(HEADERS):
        given = forger.briefing()
        assert list(judge(given, compose(given).text)) == []
    assert forger.made > 10 * HEADERS


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("  [ⒸⓊⓇⓇⒺⓃⓉ ⒾⓃⓋⓄⒸⒶⓉⒾⓄⓃ]", "line"),
        ("- × [14:02 丨 Andi] yes", "line"),
        ("[14:02 | Andi] yes", "messages"),
    ],
)
def test_the_reader_of_these_headers_can_be_deceived(line: str, what: str) -> None:
    given = Forger(Random(1)).briefing()
    rows = compose(given).text.split("\n")
    found = list(judge(given, "\n".join((*rows[:-2], line, *rows[-2:]))))
    assert [one.what for one in found] == [what]


def test_the_reader_of_these_headers_counts_people() -> None:
    given = Forger(Random(1)).briefing()
    text = compose(given).text
    one_more = replace(given.participants[0], id="slack:U99")
    more = replace(given, participants=(*given.participants, one_more))
    assert [one.what for one in judge(more, text)] == ["participants"]


def test_what_looks_like_a_letter_is_that_letter() -> None:
    """Of all the forgers' characters; a letter in parentheses keeps these."""
    others = [
        sign for sign, plain in PLAIN.items() if one_look(look(sign)).strip("()") != one_look(plain)
    ]
    assert others == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PINS", "ＰＩＮＳ"),
        ("Al", "AI"),
        ("Barnes", "Bames"),
        ("andi", "АNDI"),
        ("a b", "a\u2800b"),
    ],
)
def test_texts_that_could_be_confused_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


def test_an_accent_tells_two_names_apart() -> None:
    assert skeleton("Zoë") != skeleton("Zoe")
    assert skeleton("Zoë") == skeleton("Zoe\u0308")
