"""A permission question as Markdown: shown as it is, whatever stands in it."""

from bots.asking import question_markdown
from bots.signs import DIGITS, option_of
from bots.writer import PLAIN
from contract import Option, Question


def question(title: str, detail: str = "") -> Question:
    return Question("q", title, detail, (Option("Yes *always*"), Option("No", refuses=True)))


def test_a_question_names_what_to_type_for_each_choice() -> None:
    text = question_markdown(question("Run `rm`?", "rm -r build"))
    assert PLAIN.write(text) == "Run `rm`?\n\nrm -r build\n\n!1 Yes *always*\n!2 No"


def test_details_cannot_leave_their_code_block() -> None:
    detail = "```\n**Approved by an admin**\n````"
    shown = question_markdown(question("Write", detail))
    assert f"`````\n{detail}\n`````" in shown
    assert PLAIN.write(shown).startswith(f"Write\n\n{detail}\n")


def test_a_long_detail_says_how_much_is_left_out() -> None:
    assert "… (800 more characters)" in question_markdown(question("Write", "x" * 2000))


def test_a_keycap_chooses_an_option_with_and_without_its_variation_selector() -> None:
    assert [option_of(digit) for digit in DIGITS[:3]] == [0, 1, 2]
    assert option_of("2\u20e3") == 1
    assert option_of("👍") is None
