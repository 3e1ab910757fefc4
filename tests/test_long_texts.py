"""What people may send is read in time that grows as the text does: each of these took minutes."""

from datetime import UTC, datetime

import pytest

from bots.markdown.writer import PLAIN
from bots.slack.text import markdown, mrkdwn
from composer.platform import is_small_talk
from contract.looks import look, normalized, without_marks
from contract.private import private_parts
from gateway.core.addressing import named
from gateway.core.reading import read, worth_pinning
from gateway.core.redaction import REMOVED, Redactor
from gateway.settings.personas.personas import FrontMatter, Persona
from memory.extraction.plain import is_telling
from memory.recall.question import question

LONG = 300_000
MARKS = "\u0315\u0300"
SECRET = "sk-beefcafe-deadbeef-0123456789"


@pytest.mark.parametrize("sign", ["`", "*", "_", "~~"])
def test_a_command_that_nothing_wraps_up(sign: str) -> None:
    assert read(f"{sign}!new{' ' * LONG}x", reply=False).command is None
    command = read(f"{sign}!new{' ' * LONG}x{sign}", reply=False).command
    assert command is not None
    assert (command.name, command.argument) == ("new", "x")


def test_decisions_without_an_end() -> None:
    assert worth_pinning("decision: " * (LONG // 10)) == "decision"
    assert worth_pinning("decision: " * (LONG // 10) + "?") is None
    assert worth_pinning("decision: a? Decision: b.") == "decision"


def test_backticks_and_tildes() -> None:
    assert named("`" * LONG + "a" + "`" * (LONG - 2), []) == []
    bo, ada = (Persona(name, FrontMatter(agent="demo"), "") for name in ("bo", "ada"))
    fence = "`" * 25
    assert named(f"{fence}\n@bo\n{fence}\n@ada hi", [bo, ada]) == [ada]
    for sign in "`~":
        [part] = private_parts(f"<private>x</private>\n{sign * LONG}")
        assert (part.start, part.end) == (0, 20)
    opened = "".join("`" * number + "a" for number in range(1, 800))
    assert markdown(opened) == opened


def test_marks_upon_a_letter() -> None:
    assert without_marks(look("a" + MARKS * (LONG // 2))) == "a"
    assert read("!new" + MARKS * (LONG // 2), reply=False).command is None
    heaped = normalized("NFC", "a" + MARKS * 100)
    assert heaped.count("\u0315") == 100
    assert normalized("NFC", "e\u0301 \uff76\uff9e") == "é \uff76\uff9e"


def test_what_looks_like_a_fact_or_a_question() -> None:
    assert not is_telling("Deploy is postgres" + "." * LONG + "x y")
    assert is_telling("Deploy is postgres")
    asked = question("a" + MARKS * (LONG // 2) + " \ufdfa" * LONG, datetime.now(UTC))
    assert len(asked.terms) < 20_000


def test_quotes_that_their_code_ends_early() -> None:
    written = PLAIN.write("> ```\na\n" * 5_000)
    assert written.count("a") == 5_000
    long = "> ```\n" + "> b\n" * 500 + "> ```"
    assert mrkdwn(long).count("b") == 500
    assert mrkdwn(f"{long}\n\n> c") == f"{mrkdwn(long)}\n\n> c"


def test_small_talk_goes_on() -> None:
    assert not is_small_talk("bye " * 19 + "zz")
    assert is_small_talk("bye bye bye")


def test_secrets_and_what_hides_them() -> None:
    redactor = Redactor([SECRET])
    assert redactor(f"a{SECRET}" * (LONG // 10)) == f"a{REMOVED}" * (LONG // 10)
    assert redactor("<!--" * LONG) == "<!--" * LONG
    hidden = SECRET.replace("-", "-<!-- <!-- -->")
    assert redactor(f"a {hidden} b") == f"a {REMOVED} b"
