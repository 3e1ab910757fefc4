"""What rows of programs' records tell of tokens; the whole of it is in tests/every_agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.records import spent
from adapters.records.spent import Meter, total
from contract.agent import Usage

CALL = {"input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56}
ROWS: dict[str, tuple[Meter, dict[str, Any]]] = {
    "claude": (
        spent.by_claude,
        {
            "type": "assistant",
            "message": {
                "id": "k",
                "model": "m",
                "usage": {
                    "input_tokens": 200,
                    "cache_creation_input_tokens": 34,
                    "cache_read_input_tokens": 1000,
                    "output_tokens": 56,
                },
            },
        },
    ),
    "codex": (
        spent.by_codex,
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {"last_token_usage": CALL, "total_token_usage": {"total_tokens": 9}},
            },
        },
    ),
    "copilot": (
        spent.by_copilot,
        {
            "type": "session.usage_record",
            "id": "k",
            "data": {
                "usage": {
                    "model": "m",
                    "inputTokens": 1234,
                    "outputTokens": 56,
                    "cacheReadTokens": 1000,
                    "cost": 0.0,
                }
            },
        },
    ),
    "vibe": (
        spent.by_vibe,
        {
            "type": "action_result",
            "payload": {
                "action_id": "k",
                "state": "succeeded",
                "result": {"result": {"usage": CALL}},
            },
        },
    ),
    "llm": (
        spent.by_llm,
        {
            "id": "k",
            "model": "m",
            "input_tokens": 1234,
            "output_tokens": 56,
            "token_details": json.dumps({"prompt_tokens_details": {"cached_tokens": 1000}}),
        },
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_tells_what_one_call_took(name: str) -> None:
    meter, row = ROWS[name]
    told = meter(row)
    assert told is not None
    took = told.usage
    assert (took.input_tokens, took.output_tokens, took.cached_tokens) == (1234, 56, 1000)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_tells_nothing_or_nonsense_is_passed_over(name: str) -> None:
    meter, row = ROWS[name]
    for odd in ({}, {**row, "type": "other", "input_tokens": None}):
        assert meter(odd) is None
    for key in ("message", "payload", "data", "token_details"):
        meter({**row, key: "not what it was"})


def test_several_calls_add_up_and_the_cost_is_known_when_each_one_is() -> None:
    one, other = Usage("m", 10, 2, 5, 0.5), Usage("n", 1, 1, 0, None)
    assert total([one, one]) == Usage("m", 20, 4, 10, 1.0)
    assert total([one, other]) == Usage("n", 11, 3, 5, None)
    assert total([]) is None
