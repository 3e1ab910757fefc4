"""What a text is indexed by, and what a question asks for."""

from datetime import UTC, date, datetime

import pytest

from memory.recall.question import question, without
from memory.recall.words import TIMED, entry_terms, fold, terms

NOW = datetime(2026, 4, 15, 12, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She was painting sunrises", "paint sunrise"),
        ("CAFÉ", "cafe"),
        ("it’s Caroline's", "caroline"),
        ("ﬁnal ２０２６", "final 2026"),
        ("refresh_token", "refresh tokens"),
        ("Straße", "STRASSE"),
        ("йод", "ЙОД"),
        ("the children bought mice", "child buys mouse"),
    ],
)
def test_what_is_written_differently_is_the_same(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the and of", []),
        ("👍 … —", []),
        ("猫", ["猫"]),
        ("東京都", ["東京", "京都", "東", "京", "都"]),
        ("カメラ", ["カメ", "メラ"]),
        ("JWT期限", ["jwt", "期限", "期", "限"]),
        ("हिन्दी", ["हिन्दी"]),
        ("한국어", ["한국", "국어"]),
    ],
)
def test_scripts_without_blanks_are_cut_into_pairs(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_no_text_can_forge_a_mark() -> None:
    assert not [term for term in terms("@p:andi @t @y:2026 ＠t") if term.startswith("@")]


def test_an_entry_is_marked_with_its_person_and_with_times() -> None:
    found = entry_terms("I was there yesterday", "Andi Pratama")
    assert found[-3:] == ["@p:andi", "@p:pratama", TIMED]
    assert TIMED not in entry_terms("I was there", "")


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("what was decided in April 2026?", {("month", 4), ("year", 2026)}),
        ("on May 8th", {("month", 5), ("day", 8)}),
        ("the 8 of may", {("month", 5), ("day", 8)}),
        ("2026-04-15", {("year", 2026), ("month", 4), ("day", 15)}),
        ("on 29 Dec 2023", {("month", 12), ("year", 2023), ("day", 29)}),
        ("Sept. 3rd", {("month", 9)}),
        ("the 1st Jan", {("month", 1), ("day", 1)}),
        ("on 23.01.2024", {("month", 1), ("year", 2024), ("day", 23)}),
        ("the jan of version 1.2.3", set()),
        ("may I ask for 8 tokens?", set()),
        ("version 20261 of 45", set()),
    ],
)
def test_a_question_names_dates(text: str, dates: set[tuple[str, int]]) -> None:
    assert set(question(text, NOW).dates) == dates


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("what did we say yesterday?", (date(2026, 4, 14), date(2026, 4, 14))),
        ("and today?", (date(2026, 4, 15), date(2026, 4, 15))),
        ("last week", (date(2026, 4, 6), date(2026, 4, 12))),
        ("this week", (date(2026, 4, 13), date(2026, 4, 19))),
        ("last weekend", (date(2026, 4, 11), date(2026, 4, 12))),
        ("last month", (date(2026, 3, 1), date(2026, 3, 31))),
        ("last year", (date(2025, 1, 1), date(2025, 12, 31))),
        ("two weeks ago", (date(2026, 3, 30), date(2026, 4, 3))),
        ("3 days ago", (date(2026, 4, 12), date(2026, 4, 12))),
        ("last Monday", (date(2026, 4, 13), date(2026, 4, 13))),
        ("on Wednesday", (date(2026, 4, 8), date(2026, 4, 8))),
        ("999 years ago", None),
        ("why", None),
    ],
)
def test_a_distance_in_time_means_days(text: str, days: tuple[date, date] | None) -> None:
    found = question(text, NOW).days
    assert found == days or (days is None and found is not None and found[1].year < 2000)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("What are Andi's hobbies?", "What are  hobbies?"),
        ("where did andi go?", "where did  go?"),
        ("Andi?", "Andi?"),
        ("which android is it?", "which android is it?"),
    ],
)
def test_a_question_is_left_without_its_names(text: str, rest: str) -> None:
    assert without(text, {"andi"}.__contains__) == rest


@pytest.mark.parametrize("text", ["When is it?", "what day was it", "how long have you known"])
def test_a_question_may_ask_for_a_time(text: str) -> None:
    assert question(text, NOW).when
    assert not question("what is it", NOW).when


def test_folding_keeps_the_marks_of_other_scripts() -> None:
    assert fold("がぎぐ") == "がぎぐ"
