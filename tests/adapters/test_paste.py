"""A prompt as keystrokes."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.cli.keyboard import BEGIN, END, clean, keystrokes
from adapters.turn_signs import PromptText, PromptTyping

PLAIN = PromptTyping()


@given(st.text())
def test_nothing_in_a_prompt_is_a_key_or_ends_the_paste(text: str) -> None:
    typed = keystrokes(text, PLAIN)
    assert typed.startswith(BEGIN)
    assert typed.endswith(END)
    body = typed[len(BEGIN) : -len(END)].decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", body)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_arrives_as_it_is_but_composed(text: str) -> None:
    if not text.endswith("\\"):
        assert clean(text, PLAIN) == unicodedata.normalize("NFC", text)


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text, PLAIN), PLAIN) == clean(text, PLAIN)


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\tb", "a    b"),
        ("cafe\u0301", "café"),
        ("\x1b[201~rm\r", "[201~rm\n"),
        ("\x9b201~\x7f\x00\x03", "201~"),
        ("ends in \\", "ends in \\ "),
        ("line\\\nline", "line\\\nline"),
        ("", ""),
    ],
)
def test_what_is_typed(prompt: str, typed: str) -> None:
    assert clean(prompt, PLAIN) == typed


def test_a_tab_stays_where_the_program_keeps_it() -> None:
    assert (
        clean(
            "a\tb",
            PromptTyping(
                text=PromptText(tab="\t"),
            ),
        )
        == "a\tb"
    )


def test_a_program_without_pastes_gets_one_line() -> None:
    typing = PromptTyping(
        paste=False,
        newline=" ",
        before=b"\x15",
    )
    assert keystrokes("\none\ntwo\n", typing, paste=False) == b"\x15one two"


def test_a_prompt_may_go_in_as_several_pastes() -> None:
    typing = PromptTyping(
        text=PromptText(pieces=lambda text: text.split(";")),
    )
    assert keystrokes("a;b", typing) == BEGIN + b"a" + END + BEGIN + b"b" + END


def test_half_a_surrogate_does_not_break_the_typing() -> None:
    assert keystrokes("a\ud800b", PLAIN) == BEGIN + b"a?b" + END
