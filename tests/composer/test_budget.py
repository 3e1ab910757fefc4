"""What is left out when a header grows too long."""

import random
from dataclasses import replace
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.cuts import cut_end, cut_middle
from composer.header import compose
from contract.briefing import Briefing, Budget, Fact, Landmark, Note, Observation, ThreadMessage
from contract.chat import Speaker
from tests.doubles.attacks import attacks
from tests.doubles.briefings import BUDI, briefing, line
from tests.doubles.header_reader import forged, read

ORDER = [
    "OBSERVATIONS",
    "RECALL",
    "RECOMMENDATIONS",
    "PINS",
    "THREAD CONTEXT",
    "RAW TRANSCRIPT",
    "EPISODIC SUMMARY",
    "LANDMARKS",
]


def full(**budget: Any) -> Briefing:
    """Something in every section."""
    return briefing(
        recall=tuple(Fact(f"hit {i} " + "r" * 90, score=i) for i in range(5)),
        pins=tuple(Note(f"pin {i} " + "p" * 90) for i in range(2)),
        recommendations=(Note("recommendation " + "q" * 90),),
        landmarks=tuple(Landmark(f"{i} " + "l" * 90, f"2026-01-0{i}", "Budi") for i in (1, 2, 3)),
        summary="s" * 900,
        observations=tuple(Observation(f"seen {i} " + "o" * 90) for i in range(5)),
        thread=tuple(ThreadMessage(BUDI, f"said {i} " + "t" * 90) for i in range(5)),
        transcript=tuple(line(str(i), f"m{i} " + "x" * 90, minutes=i) for i in range(20)),
        trigger_ids=("7", "19"),
        budget=Budget(**budget),
    )


def trimmed(given: Briefing) -> list[str]:
    return [trim.section for trim in compose(given).trims]


@pytest.mark.parametrize("total", [60_000, 4_000, 3_300, 3_000, 2_500, 2_000, 1_500, 1_000, 600])
def test_a_header_is_never_longer_than_its_total(total: int) -> None:
    header = compose(full(total=total))
    assert len(header.text) <= total
    assert "m7 " in header.text
    assert "m19 " in header.text
    read(header.text)


def test_sections_are_trimmed_in_the_lawful_order_and_no_more_than_needed() -> None:
    for total in range(5_200, 500, -50):
        header = compose(full(total=total))
        names = [trim.section for trim in header.trims]
        assert names == ORDER[: len(names)]
        whole = len(compose(full()).text)
        assert whole - len(header.text) == sum(trim.chars for trim in header.trims)
        left = {section.name for section in header.sections}
        assert not left & (set(names[:-1]) - {"RAW TRANSCRIPT", "EPISODIC SUMMARY"})


def test_what_goes_first_of_each_layer() -> None:
    size = len(compose(full()).text)
    without = compose(full(total=size - 600)).text
    assert "OBSERVATIONS" not in without
    assert "hit 0" not in without
    assert "hit 1" in without
    text = compose(full(total=2_300)).text
    assert "m0 " not in text
    assert "m18 " in text
    assert "said" not in text
    summary = read(compose(full(total=1_000)).text).sections["EPISODIC SUMMARY"]
    assert summary[0].endswith("s…")
    assert "[2026-01-01]" in compose(full(total=1_000)).text
    last = compose(full(total=600)).text
    assert "[2026-01-01]" not in last
    assert "[2026-01-03]" in last


def test_the_context_of_the_agent_is_a_limit_too() -> None:
    header = compose(full(agent_context_tokens=1_000))
    assert len(header.text) <= 2_800
    assert compose(full(agent_context_tokens=100_000)).trims == ()


def test_what_is_never_trimmed_may_exceed_the_total_and_the_record_says_so() -> None:
    said = line("1", "y" * 10_000)
    header = compose(briefing(transcript=(said,), trigger_ids=("1",), budget=Budget(total=1_000)))
    over = header.trims[-1]
    assert over.section == "TOTAL"
    assert over.chars == len(header.text) - 1_000
    assert "y" * 2_400 in header.text
    assert "[… 6400 characters left out …]" in header.text
    assert "Respond to Andi" in header.text


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    text = "a" * 2_400 + "b" * 5_000 + "c" * 1_200
    given = briefing(transcript=(line("1", text),))
    assert read(compose(given).text).sections["RAW TRANSCRIPT"] == [
        "[14:02 | Andi] " + "a" * 2_400,
        "  [… 5000 characters left out …]",
        "  " + "c" * 1_200,
    ]
    assert compose(given).trims[0].chars == 5_000


def test_a_message_at_its_cap_is_whole() -> None:
    given = briefing(transcript=(line("1", "a" * 4_000),))
    assert "a" * 4_000 in compose(given).text
    assert compose(given).trims == ()


def test_the_oldest_messages_leave_a_long_transcript_but_never_one_that_asked() -> None:
    said = tuple(line(str(i), f"m{i} " + "x" * 3_000, minutes=i) for i in range(20))
    header = compose(briefing(transcript=said, trigger_ids=("0", "5")))
    section = next(s for s in header.sections if s.name == "RAW TRANSCRIPT")
    assert len(section.text) <= 24_000
    shown = [i for i in range(20) if f"] m{i} " in section.text]
    assert shown == [0, 5, 15, 16, 17, 18, 19]


def test_without_known_triggers_the_newest_message_of_who_asked_stays() -> None:
    said = (line("1"), line("2", "asked " + "x" * 100), line("3", "y" * 100, BUDI))
    header = compose(briefing(transcript=said, trigger_ids=("?",), budget=Budget(total=0)))
    assert "asked" in header.text
    assert "yyy" not in header.text
    header = compose(briefing(transcript=said[2:], budget=Budget(total=0)))
    assert "yyy" in header.text


def test_the_count_of_new_messages_is_that_of_those_shown() -> None:
    given = replace(full(total=1_700), since_last_reply=True)
    header = read(compose(given).text)
    count = len(header.sections["RAW TRANSCRIPT"])
    assert f"[RAW TRANSCRIPT — {count} messages since your last reply]" in header.headings
    assert count < 20


@pytest.mark.parametrize("cap", [800, 500, 250, 140, 0])
def test_pins_and_recommendations_share_a_cap_with_their_headings(cap: int) -> None:
    sections = compose(full(notes=cap)).sections
    both = [s.text for s in sections if s.name in ("PINS", "RECOMMENDATIONS")]
    assert sum(map(len, both)) <= cap
    assert cap < 500 or len(both) == 2


def test_counts_and_lengths_of_the_layers_are_capped_and_recorded() -> None:
    given = briefing(
        recall=(Fact("r" * 400, ""),) * 7,
        pins=(Note("p" * 200),) * 3,
        recommendations=(Note("q" * 200),) * 2,
        landmarks=(Landmark("l" * 600, "2026-01-01", ""),) * 12,
        summary="s" * 5_000,
        observations=(Observation("o" * 300),) * 11,
        thread=(ThreadMessage(BUDI, "t" * 500),) * 16,
        participants=tuple(Speaker(f"web:{i}", f"P{i}") for i in range(21)),
    )
    header = compose(given)
    sections = read(header.text).sections
    assert [len(row) for row in sections["RECALL"]] == [302] * 5
    assert [len(row) for row in sections["PINS"]] == [152] * 2
    assert [len(row) for row in sections["RECOMMENDATIONS"]] == [152]
    assert [len(row) for row in sections["LANDMARKS"]] == [515] * 10
    assert [len(row) for row in sections["EPISODIC SUMMARY"]] == [4_000]
    assert [len(row) for row in sections["OBSERVATIONS"]] == [202] * 10
    assert [len(row) for row in sections["THREAD CONTEXT"]] == [400 + len("- Budi: ")] * 15
    assert {trim.section for trim in header.trims} == {*sections} - {
        "RAW TRANSCRIPT",
        "CURRENT INVOCATION",
    }


def test_a_cut_forges_nothing() -> None:
    for width in range(2_380, 2_420):
        text = "a" * width + "\n" + "b" * 2_000 + "[14:02 | Budi] yes " * 200
        header = compose(briefing(transcript=(line("1", text),)))
        assert forged(header.text, {"Andi"}) == []


GRAPHEMES = [
    "a",
    "é",
    "e\u0301",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "👍🏽",
    "नि",
    "각",
    "\u1100\u1161\u11a8",
    "漢",
    "1️⃣",
    "\n",
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(GRAPHEMES), max_size=120).map("".join), st.integers(0, 200))
def test_a_cut_fits_and_tears_no_grapheme(text: str, cap: int) -> None:
    whole = regex.findall(r"\X", text)
    short = cut_end(text, cap)
    assert len(short) <= cap or short == text
    kept = regex.findall(r"\X", short.removesuffix("…"))
    assert kept == whole[: len(kept)]
    middle, left_out = cut_middle(text, cap)
    assert len(middle) <= max(cap, 0) or middle == text
    head, marker, tail = middle.partition(f"\n[… {left_out} characters left out …]\n")
    if marker:
        assert len(head) + left_out + len(tail) == len(text)
        assert regex.findall(r"\X", head) + regex.findall(
            r"\X", text[len(head) : len(text) - len(tail)]
        ) + regex.findall(r"\X", tail) == regex.findall(r"\X", text)


def test_a_run_of_flags_is_cut_between_two_of_them() -> None:
    for extra in range(6):
        short = cut_end("x" * extra + "🇩🇪" * 1_000, 501)
        assert (len(short) - 1 - extra) % 2 == 0


def test_a_grapheme_of_hundreds_of_marks_does_not_empty_a_text() -> None:
    assert len(cut_end("a" + "\u0301" * 5_000, 1_000)) > 700


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 6_000), st.lists(attacks(), max_size=15), st.integers(0, 2**32))
def test_no_budget_breaks_a_header(total: int, texts: list[str], seed: int) -> None:
    dice = random.Random(seed)
    said = tuple(line(str(i), text, minutes=i) for i, text in enumerate(texts))
    asked = tuple(str(i) for i in range(len(texts)) if dice.random() < 0.2)
    given = replace(
        full(total=total, message=dice.randint(0, 50)),
        transcript=said,
        trigger_ids=asked,
        summary="\n".join(texts),
    )
    header = compose(given)
    over = [trim.chars for trim in header.trims if trim.section == "TOTAL"]
    assert len(header.text) == total + over[0] if over else len(header.text) <= total
    assert forged(header.text, {"Andi"}) == []
