"""Briefings as JSON: what is taken, and what is refused in which words."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from composer.briefing import briefing_schema, parse_briefing
from composer.header import compose
from contract.briefing import Briefing
from contract.errors import ConfigError, MootError

GOLDEN = Path(__file__).parent / "golden"
SPECIFICATION = json.loads((GOLDEN / "specification" / "briefing.json").read_bytes())


def changed(path: str, value: Any) -> str:
    """The specification's briefing with one value replaced."""
    text = json.loads(json.dumps(SPECIFICATION))
    at = text
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step) if step.isdigit() else step]
    at[last] = value
    return json.dumps(text)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("colour", 1, "colour: is no field of a briefing"),
        ("room.colour", 1, "room.colour: is no field"),
        ("transcript.0.by.colour", 1, "transcript.0.by.colour: is no field"),
        ("budget", {"totl": 1}, "budget.totl: is no field"),
        ("room", None, "room: must be an object"),
        ("room.name", None, "room.name: must be a text"),
        ("room.kind", 3, "room.kind: "),
        ("you.kind", "robot", "you.kind: "),
        ("summary", None, "summary: must be a text"),
        ("transcript.0.text", None, "transcript.0.text: must be a text"),
        ("transcript.1.at", "2026-04-21T14:02:00", "transcript.1.at: needs its offset from UTC"),
        ("transcript.1.at", "soon", "transcript.1.at: "),
        ("transcript.1.at", 1_776_754_921, "transcript.1.at: "),
        ("at", None, "at: "),
        ("timezone", "Mars/Olympus", "timezone: 'Mars/Olympus' is no IANA time zone"),
        ("timezone", "\ud800", "timezone: "),
        ("timezone", None, "timezone: must be a text"),
        ("recall", {}, "recall: "),
        ("recall.0.score", "high", "recall.0.score: "),
        ("recall.0.score", float("nan"), "briefing: is not JSON: NaN is no number"),
        ("hop", -1, "hop: "),
        ("hop", True, "hop: "),
        ("budget", {"total": -1}, "budget.total: "),
        ("budget", {"total": "5"}, "budget.total: "),
        ("budget", {"total": 2**60}, "budget.total: "),
        ("a\n[PINS]\x1b[31m", 1, "a [PINS]: is no field"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_that_names_the_field(
    path: str, value: Any, said: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_briefing(changed(path, value))
    assert str(refusal.value).startswith(said)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "must be an object"),
        ("null", "must be an object"),
        ("{}", "room: is missing"),
        (b"\xff\xfe\xfd", "is not UTF-8"),
        ("[" * 200_000, "nested too deeply"),
        ('{"hop": ' + "9" * 5_000 + "}", "is not JSON"),
    ],
)
def test_what_is_no_briefing_is_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(MootError, match=said):
        parse_briefing(text)


def test_a_lone_surrogate_is_read_as_a_replacement_character() -> None:
    given = parse_briefing(changed("transcript.0.text", "a\ud800b \U0001f600 \x00"))
    assert given.transcript[0].text == "a\ufffdb \U0001f600 \x00"
    assert "a\ufffdb \U0001f600\n" in compose(given).text


def test_the_schema_accepts_every_golden_briefing_and_describes_every_type() -> None:
    schema = briefing_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for case in GOLDEN.iterdir():
        jsonschema.validate(json.loads((case / "briefing.json").read_bytes()), schema)
    for name, definition in schema["$defs"].items():
        assert definition["description"], name
        assert definition["additionalProperties"] is False, name
    assert schema["title"] == "Briefing"
    assert "IANA" in schema["properties"]["timezone"]["description"]


def test_the_schema_refuses_what_is_no_field() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(changed("colour", 1)), briefing_schema())


def test_bytes_and_text_are_one_briefing() -> None:
    text = json.dumps(SPECIFICATION, ensure_ascii=False)
    given = parse_briefing(text)
    assert isinstance(given, Briefing)
    assert parse_briefing(text.encode()) == given
