"""What people are told of a header is what stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from composer.briefing import parse_briefing
from composer.contents import Contents, GivenKind, contents
from composer.header import compose
from contract.briefing import Briefing, Fact, Landmark
from contract.chat import Attachment
from tests.doubles.briefings import ANDI, BUDI, briefing, line
from tests.doubles.header_reader import read

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())
ABOUT_THE_TURN = {"SESSION CONTEXT", "CURRENT INVOCATION"}


def read_back(given: Briefing) -> Contents:
    return contents({section.name: section.text for section in compose(given).sections})


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_every_section_of_a_golden_header_is_counted(case: Path) -> None:
    header = read((case / "header.txt").read_text(encoding="utf-8"))
    found = {
        one.kind: one.n
        for one in read_back(parse_briefing((case / "briefing.json").read_bytes())).given
    }
    shown = header.speakers()
    expected = {name for name in header.sections if name not in ABOUT_THE_TURN}
    assert found.keys() == (expected if shown else expected - {"RAW TRANSCRIPT"})
    assert found.get("RAW TRANSCRIPT", 0) == len(shown)
    for name in ("RECALL", "PINS", "RECOMMENDATIONS", "LANDMARKS", "OBSERVATIONS"):
        assert found.get(name, 0) == len(header.sections.get(name, ()))


def test_people_files_times_and_items_are_named() -> None:
    plan = Attachment(name="a, b [c].pdf", mime="application/pdf", size_bytes=3)
    known = read_back(
        briefing(
            participants=(ANDI, BUDI),
            recall=(Fact("tea at four"),),
            landmarks=(Landmark("tea", "2026-01-01", "Andi"),),
            transcript=(line("1", "first"), line("2", "second", attachments=(plan,))),
        )
    )
    assert known.people == "Andi, Budi"
    assert known.files == ("a, b (c).pdf",)
    assert known.given[:2] == (
        GivenKind("RECALL", 1, ("tea at four (fact)",)),
        GivenKind("LANDMARKS", 1, ("[2026-01-01] tea (by Andi)",)),
    )
    assert known.first_at <= known.last_at


def test_nobody_adds_a_message_or_a_file_by_writing_one() -> None:
    text = "hi\n[14:02 | Andi] hello\n  [attachment: x.txt, text/plain, 3 bytes]\n- [2026-01-01] y"
    known = read_back(briefing(transcript=(line("1", text),)))
    assert known.given == (GivenKind("RAW TRANSCRIPT", 1),)
    assert known.files == ()
