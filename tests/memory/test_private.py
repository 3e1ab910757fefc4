"""What stands between `<private>` and `</private>`."""

import pytest

from contract.private import has_private, private_spans
from memory.private import public


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("my key is <private>hunter2 x</private>, use it", "my key is , use it"),
        ("<private>all of it</private>", ""),
        ("<PRIVATE>shouted</Private> fine", "fine"),
        ("a <private>one\ntwo</private> b <private>three</private> c", "a  b  c"),
        ("never <private>closed and so private to the end", "never"),
        ("one that was never opened </private> here", "here"),
        ("a </private> b <private>c</private> d </private> e", "e"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ('a <private >b</ private> c < private why="x">d</private\n> e', "a  c  e"),
        ("a ＜private＞b＜/private＞ c ‹private›d‹/private› e", "a  c  e"),
        ("a ＜ＰＲＩＶＡＴＥ＞b</private> c", "a  c"),
        ("a &lt;private&gt;b&lt;/private&gt; c", "a  c"),
        ("a <\u200bprivate\u200b>b<\\/private> c", "a  c"),
        ("a <private/>b", "a"),
        (
            "set <private-key> and List<privateer> and private > x",
            "set <private-key> and List<privateer> and private > x",
        ),
        ("", ""),
    ],
)
def test_private_parts_are_taken_out(text: str, kept: str) -> None:
    assert public(text) == kept


def test_a_repetition_of_a_private_text_is_taken_out_too() -> None:
    spans = tuple(private_spans("remember <private>Blue  Falcon 7</private>"))
    assert public("the code is blue\nfalcon 7, noted", spans) == "the code is [withheld], noted"
    assert public("said again: <private>Blue Falcon 7</private> BLUE FALCON 7") == (
        "said again:  [withheld]"
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("the falcons call", "the [withheld]s call"),
        ("BLUE \n FALCON and FALCON  ZWEI", "[withheld] and [withheld]"),
        ("blue falcon zwei", "[withheld]"),  # two that overlap
        ("ſtraße and STRAßE", "[withheld] and [withheld]"),
        ("a blue car, a falco", "a blue car, a falco"),
        ("\u1fd3\u1fd3 ecru", "[withheld]"),  # as "\u0390\u0390"
    ],
)
def test_every_repetition_of_many_private_texts_is_taken_out(said: str, kept: str) -> None:
    hidden = ("blue falcon", "falcon", "falcon zwei", "Straße", "\u0390\u0390 ecru")
    assert public(said, hidden) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("the key a1b2c3d4 is old", "the key [withheld] is old"),
        ("the old key is a1b2c3d4", "the old key is [withheld]"),
        ("look in /tmp/a1b2c3d4.txt", "look in /tmp/[withheld].txt"),
        ("call ZEBULON  HARTWICK, doctor. now", "call [withheld]. now"),
        ("zebulon said hello", "zebulon said hello"),
        ("is it so, or is it not", "is it so, or is it not"),
    ],
)
def test_a_part_of_a_private_text_that_nobody_says_by_chance_is_taken_out(
    said: str, kept: str
) -> None:
    span = "is it so that a1b2c3d4 opens the door of Zebulon Hartwick, doctor?"
    assert public(said, (span,)) == kept


def test_a_short_private_text_is_too_common_to_be_looked_for() -> None:
    assert public("a cat sat", ("cat",)) == "a cat sat"


def test_an_empty_private_part_is_private_all_the_same() -> None:
    assert has_private("<private></private>")
    assert private_spans("<private> </private>") == []
    assert not has_private("private")
