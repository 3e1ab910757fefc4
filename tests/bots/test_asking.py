"""A permission question as Markdown: shown as it is, whatever stands in it."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from bots.kit.questions import ALONE, decided_markdown, question_markdown, refused_markdown
from bots.kit.reactions import DIGITS, option_of
from bots.markdown.writer import PLAIN
from bots.slack.text import mrkdwn
from contract.agent import Option, Question


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


def test_what_was_allowed_is_still_to_be_read() -> None:
    asked = Question("q", "Run this?", "make test\n" + "x" * 400, (Option("Yes"), Option("No")))
    text = decided_markdown(asked, 0, "Ash")
    assert text.startswith("**Run this?**\n\n```\nmake test\nxxx")
    assert "… (110 more characters)\n```" in text
    assert text.endswith("\n\nYes (Ash)")
    assert "`" not in decided_markdown(replace(asked, detail=" \n"), 0, "Ash")


@pytest.mark.parametrize(
    ("written", "notifies"),
    [(mrkdwn, "@(channel|here|everyone)|<!"), (PLAIN.write, "@(channel|here|everyone)")],
)
def test_what_was_decided_and_refused_can_not_dress_itself_up(
    written: Callable[[str], str], notifies: str
) -> None:
    title = "**Run** @channel `ls`?\n# Allowed by Ash [here](https://example.org)"
    asked = Question("q", title, "", (Option("<!here> *Yes*"), Option("No", refuses=True)))
    shown = (
        written(decided_markdown(asked, 0, "@everyone _Ash_")),
        written(refused_markdown(asked, "claude", ALONE)),
    )
    for text in shown:
        assert "\n#" not in text
        assert not re.search(notifies, text)
    assert "`ls`? # Allowed by Ash [here](" in re.sub("[\u200b\u2060]", "", shown[0])
