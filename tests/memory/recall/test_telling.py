"""The words that tell what a text is about, and the prompts that have none."""

import pytest

from memory.recall.telling import telling


@pytest.mark.parametrize(
    "prompt",
    [
        "good morning!",
        "looks good, merge it",
        "run the tests again",
        "Danke, sehr hilfreich!",
        "weiter so",
        "muchas gracias",
        "vas-y, relance les tests",
        "спасибо, запусти ещё раз",
        "شكرا جزيلا",
        "再跑一次测试",
        "テストをもう一度実行して",
        "감사합니다, 계속하세요",
        "ขอบคุณมาก",
    ],
)
def test_small_talk_and_bids_to_go_on_are_idle(prompt: str) -> None:
    assert telling(prompt).is_idle


@pytest.mark.parametrize(
    ("prompt", "about"),
    [
        ("who told you about the billing?", {"bill"}),
        ("worauf setzen wir bei Warteschlangen?", {"warteschlangen", "setzen"}),
        ("кто отвечает за порты?", {"отвеча", "порт"}),
        ("端口是多少？", {"端口", "端", "口"}),
        ("ポートは何番ですか？", {"ポー", "ート"}),
        ("how is everyone today?", {"everyon", "today"}),
    ],
)
def test_a_question_is_about_its_other_words(prompt: str, about: set[str]) -> None:
    read = telling(prompt)
    assert read.asks
    assert not read.is_idle
    assert set(read.terms) == about
