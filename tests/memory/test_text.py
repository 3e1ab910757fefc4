"""Which note bears on a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.chat import unaddressed
from memory.text import relevance, words

WEATHER = "What's the weather in SF today?"
TEXTS = st.text(max_size=80) | st.lists(
    st.sampled_from(["the", "Weather", "what's", "SF", "in", "-", "é", "日本", "42"]), max_size=8
).map(" ".join)


@pytest.mark.parametrize(
    ("note", "score"),
    [
        ("User frequently asks about weather in San Francisco", 2 / 6 + 0.2),
        ("Weather tools work best with city names rather than zip codes", 1 / 6 + 0.2),
        ("User prefers metric units for temperature", 0.0),
    ],
)
def test_the_check_values_come_out_exactly(note: str, score: float) -> None:
    assert relevance(WEATHER, note) == score


@pytest.mark.parametrize("empty", ["", "  \n", "?!", "🙂", "—"])
def test_a_message_without_words_bears_on_nothing(empty: str) -> None:
    assert relevance(empty, "anything", "anything") == 0.0


def test_the_related_question_counts_but_its_opening_words_earn_no_bonus() -> None:
    assert relevance("can you deploy it", "Staging first", "can you ship this") == 2 / 4
    assert relevance("can you deploy it", "You can use staging first") == 2 / 4 + 0.2
    assert relevance("now, I say, deploy", "Deploy to staging") == 1 / 4  # its fourth word


def test_a_word_counts_once_however_often_it_is_said() -> None:
    assert relevance("no no no deploy deploy", "deploy") == 1 / 2
    assert relevance("deploy", "deploy deploy deploy") == 1.2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What's up? 'Quoted' DON’T", ["what's", "up", "quoted", "don't"]),
        ("pi is 3.14, not 3,14.", ["pi", "is", "3.14", "not", "3,14"]),
        ("user_id in test.py (and a-b)", ["user_id", "in", "test.py", "and", "a", "b"]),
        ("Straße ÉTÉ e\u0301te\u0301", ["straße", "été", "été"]),
        ("日本 天気", ["日", "本", "天", "気"]),
        ("Привет, мир!", ["привет", "мир"]),
    ],
)
def test_words_are_told_apart_in_every_script(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<@U06STGBF4Q0> deploy", "deploy"),
        ("@claude, @codex: deploy @home", "deploy @home"),
        ("deploy <@U1>", "deploy <@U1>"),
        ("@claude", ""),
        ("@claude:chat.example.org deploy", "deploy"),
    ],
)
def test_who_is_asked_is_no_part_of_what_is_asked(text: str, left: str) -> None:
    assert unaddressed(text) == left


@given(TEXTS, TEXTS, TEXTS)
def test_it_is_the_share_of_shared_words_and_the_bonus(
    message: str, note: str, question: str
) -> None:
    score = relevance(message, note, question)
    assert 0.0 <= score <= 1.2
    asked = words(message)
    shared = set(asked) & (set(words(note)) | set(words(question)))
    assert (score > 0) == bool(shared)
    opening = set(asked[:3]) & set(words(note))
    assert score == pytest.approx(
        (len(shared) / len(set(asked)) if asked else 0) + (0.2 if opening else 0)
    )


@given(TEXTS, TEXTS)
def test_case_and_signs_around_words_change_nothing(message: str, note: str) -> None:
    plain = " ".join(words(message))
    assert relevance(f"  {plain}?! ", note) == relevance(plain, f"({note})")


@given(TEXTS)
def test_a_note_of_the_messages_own_words_scores_highest(message: str) -> None:
    assert relevance(message, message) == (1.2 if words(message) else 0.0)


@given(TEXTS, TEXTS, TEXTS)
def test_a_longer_question_never_lowers_the_score(message: str, note: str, more: str) -> None:
    assert relevance(message, note, more) >= relevance(message, note)
