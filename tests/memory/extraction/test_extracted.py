"""What an extraction may answer, row by row, and the sentences that entries become."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from contract.agent import Completion, ToolCall, Usage
from memory.extraction.extracted import (
    TOOL,
    TOOL_NAME,
    Attempt,
    Decision,
    Discussion,
    Extracted,
    Malformed,
    Request,
    about,
    read_extracted,
    sentences,
    teaches,
)
from memory.strict import is_strict

EMPTY: dict[str, Any] = {"decisions": [], "discussions": [], "attempts": [], "requests": []}
DECISION = {"options": ["a", "b"], "chosen": "a", "rationale": "why"}
DISCUSSION = {"topic": "t", "points": ["p"]}
ATTEMPT = {"action": "a", "result": "r", "succeeded": False}
REQUEST = {"intent": "i", "target": "t", "summary": "s"}
FULL: dict[str, list[dict[str, Any]]] = {
    "decisions": [DECISION],
    "discussions": [DISCUSSION],
    "attempts": [ATTEMPT],
    "requests": [REQUEST],
}


def answer(*inputs: Any, name: str = TOOL_NAME, text: str = "") -> Completion:
    calls = tuple(ToolCall(name, item) for item in inputs)
    return Completion(text, calls, Usage("m"))


def without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if k != key}


@pytest.mark.parametrize(
    "given",
    [
        EMPTY,
        FULL,
        {**EMPTY, "requests": [without(REQUEST, "target")]},
        {**EMPTY, "requests": [{**REQUEST, "target": None}]},
        {**EMPTY, "decisions": [{**DECISION, "options": []}]},
        {**EMPTY, "decisions": [{**DECISION, "rationale": ""}]},
        {**EMPTY, "discussions": [{**DISCUSSION, "points": []}]},
        {**EMPTY, "attempts": [{**ATTEMPT, "result": ""}]},
        {**EMPTY, "decisions": [DECISION, DECISION]},
    ],
)
def test_what_the_table_allows_is_taken(given: dict[str, Any]) -> None:
    reading = read_extracted(answer(given))
    assert (type(reading.found), reading.ignored) == (Extracted, 0)


PROVENANCE = ("session_id", "session", "range", "first_seq", "message_ids", "time", "at", "source")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "decisions"),
        *[(without(EMPTY, key), key) for key in EMPTY],
        *[({**EMPTY, key: None}, key) for key in EMPTY],
        *[({**EMPTY, key: {}}, key) for key in EMPTY],
        *[({**EMPTY, key: "[]"}, key) for key in EMPTY],
        *[({**EMPTY, key: ["text"]}, f"{key}.0") for key in EMPTY],
        *[({**EMPTY, key: [None]}, f"{key}.0") for key in EMPTY],
        *[
            ({**EMPTY, key: [without(FULL[key][0], part)]}, f"{key}.0.{part}")
            for key, part in [
                ("decisions", "options"),
                ("decisions", "chosen"),
                ("decisions", "rationale"),
                ("discussions", "topic"),
                ("discussions", "points"),
                ("attempts", "action"),
                ("attempts", "result"),
                ("attempts", "succeeded"),
                ("requests", "intent"),
                ("requests", "summary"),
            ]
        ],
        *[
            ({**EMPTY, key: [{**FULL[key][0], part: wrong}]}, f"{key}.0.{part}")
            for key, part, wrong in [
                ("decisions", "options", "a, b"),
                ("decisions", "options", [1]),
                ("decisions", "options", None),
                ("decisions", "chosen", 1),
                ("decisions", "chosen", ""),
                ("decisions", "chosen", "  "),
                ("decisions", "chosen", ["a"]),
                ("decisions", "rationale", None),
                ("discussions", "topic", 1),
                ("discussions", "topic", ""),
                ("discussions", "points", "p"),
                ("discussions", "points", [{"p": 1}]),
                ("attempts", "action", ""),
                ("attempts", "result", 1),
                ("attempts", "succeeded", "true"),
                ("attempts", "succeeded", 1),
                ("attempts", "succeeded", "partial"),
                ("attempts", "succeeded", None),
                ("requests", "intent", ""),
                ("requests", "target", 1),
                ("requests", "target", ["t"]),
                ("requests", "summary", "one\ntwo"),
                ("requests", "summary", "one\u2028two"),
                ("requests", "summary", ""),
                ("requests", "summary", "half a pair \ud800"),
            ]
        ],
        *[({**EMPTY, key: "x"}, key) for key in PROVENANCE],
        *[
            ({**EMPTY, key: [{**FULL[key][0], extra: "x"}]}, f"{key}.0.{extra}")
            for key in EMPTY
            for extra in (*PROVENANCE, "note")
        ],
    ],
)
def test_anything_else_is_refused_and_the_place_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_extracted(answer(given))
    assert says in str(caught.value)


def test_the_refusal_quotes_no_value() -> None:
    with pytest.raises(Malformed) as caught:
        read_extracted(answer({**EMPTY, "attempts": [{**ATTEMPT, "succeeded": "hush-hush"}]}))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "completion",
    [answer(), answer(text="Nothing to write down."), answer(FULL, name="write_notes")],
)
def test_no_call_is_refused(completion: Completion) -> None:
    with pytest.raises(Malformed, match="you did not call write_extracted"):
        read_extracted(completion)


def test_text_beside_the_call_counts_for_nothing() -> None:
    assert read_extracted(answer(EMPTY, text="Here you are.")).found.empty()


def test_the_first_call_counts_and_the_others_are_told() -> None:
    other = {**EMPTY, "requests": [REQUEST]}
    reading = read_extracted(answer(FULL, other, {"bad": 1}))
    assert (reading.found, reading.ignored) == (Extracted.model_validate(FULL), 2)


def test_a_good_second_call_does_not_mend_a_malformed_first_one() -> None:
    with pytest.raises(Malformed):
        read_extracted(answer({"bad": 1}, FULL))


def test_the_tools_schema_allows_what_the_check_allows_and_can_be_strict() -> None:
    assert is_strict(TOOL.schema)
    jsonschema.Draft202012Validator.check_schema(dict(TOOL.schema))
    jsonschema.validate(FULL, TOOL.schema)
    assert set(TOOL.schema["properties"]) == set(Extracted.model_fields)
    entries: list[tuple[str, type[BaseModel]]] = [
        ("decisions", Decision),
        ("discussions", Discussion),
        ("attempts", Attempt),
        ("requests", Request),
    ]
    for key, entry in entries:
        assert set(TOOL.schema["properties"][key]["items"]["properties"]) == set(entry.model_fields)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        {"type": "array", "items": {"type": "object", "properties": {}, "required": []}},
        {"type": "string", "pattern": "a+"},
        {"type": "string", "minLength": 1},
    ],
)
def test_a_schema_with_a_gap_is_not_strict(schema: dict[str, Any]) -> None:
    assert not is_strict(schema)


@pytest.mark.parametrize(
    ("found", "kind", "text"),
    [
        (
            {"decisions": [{"options": ["X", "A", " x. ", "B", " "], "chosen": "X"}]},
            "decision",
            "Chose X over A, B: why",
        ),
        ({"decisions": [{"options": [], "chosen": "X"}]}, "decision", "Chose X: why"),
        (
            {"decisions": [{"options": ["15 min", "30 min"], "chosen": "30 min token expiry"}]},
            "decision",
            "Chose 30 min token expiry over 15 min: why",
        ),
        (
            {"decisions": [{"options": ["Redis", "SQL on Postgres"], "chosen": "Postgres"}]},
            "decision",
            "Chose Postgres over Redis: why",
        ),
        (
            {"decisions": [{"options": ["SQL", "SQL and Redis"], "chosen": "SQL and Redis"}]},
            "decision",
            "Chose SQL and Redis over SQL: why",
        ),
        (
            {"decisions": [{"options": ["A"], "chosen": "X", "rationale": " "}]},
            "decision",
            "Chose X over A",
        ),
        ({"requests": [{"summary": "Andi  asks", "target": "x"}]}, "request", "Andi asks (x)"),
        ({"requests": [{"summary": "Andi wants T"}]}, "request", "Andi wants T"),
        ({"requests": [{"summary": "Andi wants x", "target": None}]}, "request", "Andi wants x"),
        ({"discussions": [{"points": ["a\nb", "", "c"]}]}, "discussion", "Discussed t: a b; c"),
        ({"attempts": [{"result": ""}]}, "attempt", "Tried a, which did not work"),
        (
            {"attempts": [{"result": "it held 400 users", "succeeded": True}]},
            "attempt",
            "Tried a, which worked: it held 400 users",
        ),
    ],
)  # fmt: skip
def test_an_entry_becomes_one_sentence(found: dict[str, Any], kind: str, text: str) -> None:
    [(key, [changes])] = found.items()
    entry = {**FULL[key][0], **changes}
    [sentence] = sentences(Extracted.model_validate({**EMPTY, key: [entry]}))
    assert (sentence.kind, sentence.text) == (kind, text)
    assert sentence.entry == entry


def test_a_discussion_without_a_point_is_not_kept() -> None:
    entry = {"topic": "t", "points": [" "]}
    assert not list(sentences(Extracted.model_validate({**EMPTY, "discussions": [entry]})))


@pytest.mark.parametrize(
    ("result", "succeeded", "kept"),
    [
        ("", False, True),
        ("it worked", True, False),
        ("The build passed.", True, False),
        ("The build passed in 40 s", True, True),
        ("", True, False),
    ],
)
def test_an_attempt_is_kept_when_it_teaches_something(
    result: str, succeeded: bool, kept: bool
) -> None:
    assert teaches(Attempt(action="run the build", result=result, succeeded=succeeded)) is kept


ANDI, BUDI = ("u1", "Andi"), ("u2", "Budi")


@pytest.mark.parametrize(
    ("text", "people", "who"),
    [
        ("Chose X", [ANDI], ANDI),
        ("andi wants X", [ANDI, BUDI], ANDI),
        ("Andi and Budi want X", [ANDI, BUDI], None),
        ("Andiamo wants X", [ANDI, BUDI], None),
        ("Chose X", [ANDI, BUDI], None),
        ("Chose X", [], None),
        ("C++ (2) wants X", [("u1", "C++ (2)"), BUDI], ("u1", "C++ (2)")),
    ],
)
def test_whom_a_fact_is_about(
    text: str, people: list[tuple[str, str]], who: tuple[str, str] | None
) -> None:
    assert about(text, people) == who
