"""What programs report in their own words, and what it means."""

import pytest

from adapters.records.faults import fault_in, line, sentence


@pytest.mark.parametrize(
    ("text", "kind", "do"),
    [
        ("API Error: 529 Overloaded", "limit", "in a moment"),
        ("Error: 429 Too Many Requests", "limit", "few minutes"),
        ("RESOURCE_EXHAUSTED: You exceeded your current quota", "limit", "few minutes"),
        ("Request too large: Limit 10000 tokens per min", "limit", "few minutes"),
        ("You've hit your usage limit.", "limit", "few minutes"),
        ("Your credit balance is too low", "limit", "administrator"),
        ("402 Payment Required", "limit", "administrator"),
        ("Prompt is too long", "context", "!new"),
        ("This model's maximum context length is 8192 tokens", "context", "!new"),
        ("The input token count (1200000) exceeds the maximum number", "context", "!new"),
        ("It ran out of room in the model's context window", "context", "!new"),
        ("context_length_exceeded", "context", "!new"),
        ("401 Unauthorized", "login", "log it in"),
        ("Invalid API key · Please run /login", "login", "log it in"),
        ("Your session has expired", "login", "log it in"),
        ("The model `gpt-9` does not exist", "api", "another model"),
        ("stream disconnected before completion", "api", "in a moment"),
        ("connect ECONNREFUSED 127.0.0.1:9", "api", "in a moment"),
        ("503 Service Unavailable", "api", "in a moment"),
        ("ENOSPC: no space left on device, write", "disk", "space"),
    ],
)
def test_an_error_has_its_kind_and_says_what_to_do(text: str, kind: str, do: str) -> None:
    fault = fault_in(text)
    assert fault is not None
    assert fault.kind == kind
    assert do in fault.remedy
    assert fault.remedy.endswith(".")


@pytest.mark.parametrize(
    "text", ["", "TypeError: x is undefined", "exit code 1", "line 4290 of 5030", "port 14010"]
)
def test_words_that_mean_nothing_known_are_left_alone(text: str) -> None:
    assert fault_in(text) is None


LONG = "It had an accident while it was looking for the word that you had asked for, and goes on. "


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("No such key.", "No such key"),
        ("It failed ...\n  again..", "It failed ... again"),
        ('[API Error: {"error":{"code":500,"message":"An \\"accident\\" of it."}}]', None),
        ('[API Error: {"type":"error","message":"An \\"accident\\" of it", "status":5', None),
        ('{"error": {"message": "{\\"error\\": {\\"message\\": \\"inside\\"}}"}}', "inside"),
        ("a {curly} word", "a {curly} word"),
        ("Cannot■connect to ⬝⬝API: Unable", "Cannot connect to API: Unable"),
        ("while it was looking fo…", "while it was looking…"),
        (LONG * 4, f"{LONG}{LONG}It had an accident…"),
        ("x" * 300, f"{'x' * 199}…"),
    ],
)
def test_an_error_is_quoted_in_whole_words(told: str, said: str | None) -> None:
    assert sentence(told) == (said or 'API Error: An "accident" of it')


def test_a_line_has_one_full_stop_behind_each_sentence() -> None:
    assert str(line("X", "Too late..", "Ask again.")) == "X: Too late. Ask again."
    assert str(line("X", "Too late!", "Ask again.")) == "X: Too late! Ask again."
    assert str(line("X", "y" * 300, "Ask again.")).endswith("y…. Ask again.") is False
