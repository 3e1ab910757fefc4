"""What in a message is a pin, and what sounds as if it should be one."""

import pytest

from gateway.core.quoting import number_in, quoted
from gateway.core.reading import Pin, begins_with_pin, pins_in, worth_pinning

CODE = "```py\n!pin not this\nx = 1\n```"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("!pin we rotate tokens", [Pin("pin", "we rotate tokens")]),
        ("!DECISION: we rotate", [Pin("decision", "we rotate")]),
        ("@demo <@U1>, !spec one\ntwo", [Pin("spec", "one\ntwo")]),
        (f"!landmark\n{CODE}\nend", [Pin("landmark", f"{CODE}\nend")]),
        ("ok then\r\n!decision we rotate\r\nand go on", [Pin("decision", "we rotate")]),
        ("!pin a\nb\n!action c\nd", [Pin("pin", "a\nb"), Pin("action", "c")]),
        ("!pin", [Pin("pin", "")]),
        ("type\n!pin\nto pin", []),
        (f"look:\n{CODE}", []),
        ("look:\n~~~\n```\n!pin x\n~~~", []),
        ("say !pin x", []),
        (" then\n  !pin x", []),
        ("> !pin x", []),
        ("!pinned x", []),
        ("!pins", []),
        ("", []),
    ],
)
def test_a_pin_stands_at_the_beginning_of_a_line(text: str, found: list[Pin]) -> None:
    assert list(pins_in(text, reply=False)) == found


def test_a_bare_pin_on_a_later_line_means_the_message_replied_to() -> None:
    assert pins_in("good\n!decision", reply=True) == (Pin("decision", ""),)


def test_only_what_begins_with_a_pin_is_one_as_a_whole() -> None:
    assert begins_with_pin("@demo !pin x")
    assert begins_with_pin("!spec\nx")
    assert not begins_with_pin("@demo do it\n!pin x")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ok, we decided to rotate tokens", "decision"),
        ("We've agreed on 30 minutes.", "decision"),
        ("Decision: 30 minutes", "decision"),
        ("let's go with Postgres then", "decision"),
        ("have we decided on Postgres?", None),
        ("we haven't decided yet", None),
        ("we decided it <private>for Ana</private>", None),
        ("```\nwe decided\n```", None),
        ("```\n" + "x\n" * 20 + "```", "code"),
        ("```\n" + "x\n" * 19 + "```", None),
        ("~~~\n" + "x\n" * 25, "code"),
        ("x\n" * 30, None),
    ],
)
def test_a_decision_or_long_code_is_worth_a_pin(text: str, what: str | None) -> None:
    assert worth_pinning(text) == what


def test_a_quoted_text_is_one_line_that_mentions_nobody() -> None:
    assert quoted("a\n\n  b", 80) == "a b"
    assert "@codex" not in quoted("@codex <@U1> do it", 80)
    assert quoted("x" * 100, 80) == "x" * 79 + "…"


def test_a_number_is_only_a_number() -> None:
    assert (number_in("12"), number_in(" #12 ")) == (12, 12)
    assert [number_in(text) for text in ("", "x", "1 2", "-1", "1" * 20)] == [None] * 5
