"""Whoever writes whatever: no line of a header passes for another section or speaker."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from composer.briefing import parse_briefing
from composer.header import compose, typable
from tests.doubles.attacks import attacks
from tests.doubles.header_reader import SPOKEN, forged, read

TEXT = attacks(8)
SHORT = attacks(4)
NAMES = SHORT | st.sampled_from(["Andi", "codex (bot)", "claude"])
SPEAKER = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["slack:U1", "slack:U2", "web:x", "matrix:@a:b"]) | SHORT,
        "name": NAMES,
        "kind": st.sampled_from(["human", "bot"]),
        "mention": st.none() | SHORT | st.sampled_from(["<@U1>", "@andi"]),
        "role": st.none() | SHORT,
    }
)
ATTACHMENT = st.fixed_dictionaries(
    {"name": SHORT, "mime": SHORT, "size_bytes": st.just(1), "path": st.none() | SHORT}
)
LINE = st.fixed_dictionaries(
    {
        "id": st.sampled_from("abc"),
        "by": SPEAKER,
        "text": attacks(),
        "at": st.sampled_from(["2026-04-21T14:02:00+07:00", "2026-04-21T14:03:00+07:00"]),
        "attachments": st.lists(ATTACHMENT, max_size=2),
    }
)
BRIEFING = st.fixed_dictionaries(
    {
        "room": st.fixed_dictionaries(
            {
                "id": SHORT,
                "name": TEXT,
                "kind": st.sampled_from(["room", "dm", "gdm"]) | SHORT,
                "project": st.none() | TEXT,
            }
        ),
        "you": SPEAKER,
        "agent": TEXT,
        "triggered_by": SPEAKER,
        "at": st.just("2026-04-21T14:02:00+07:00"),
        "participants": st.lists(SPEAKER, max_size=3),
        "recall": st.lists(
            st.fixed_dictionaries({"text": TEXT, "kind": SHORT, "date": SHORT, "origin": SHORT}),
            max_size=3,
        ),
        "pins": st.lists(st.fixed_dictionaries({"text": TEXT}), max_size=2),
        "recommendations": st.lists(st.fixed_dictionaries({"text": TEXT}), max_size=1),
        "landmarks": st.lists(
            st.fixed_dictionaries({"text": TEXT, "date": SHORT, "by": SHORT}), max_size=3
        ),
        "summary": attacks(20),
        "observations": st.lists(
            st.fixed_dictionaries({"title": TEXT, "date": SHORT, "kind": SHORT}), max_size=2
        ),
        "thread": st.lists(st.fixed_dictionaries({"by": SPEAKER, "text": TEXT}), max_size=3),
        "thread_context": attacks(20),
        "transcript": st.lists(LINE, max_size=5),
        "since_last_reply": st.booleans(),
        "trigger_ids": st.lists(st.sampled_from("abc"), max_size=1),
        "spoke_since": st.lists(SPEAKER, max_size=3),
    }
)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(BRIEFING)
def test_no_briefing_forges_a_line(given_as_json: dict[str, Any]) -> None:
    given = parse_briefing(json.dumps(given_as_json))
    header = compose(given)
    header.text.encode()
    parsed = read(header.text)
    labels = parsed.speakers()
    assert len(labels) == len(given.transcript)
    assert forged(header.text, set(labels)) == []
    assert all(
        not SPOKEN.fullmatch(line)
        for name, lines in parsed.sections.items()
        for line in lines
        if name != "RAW TRANSCRIPT"
    )
    shown: dict[str, str] = {}
    ordered = sorted(given.transcript, key=lambda line: line.at)
    for line, label in zip(ordered, labels, strict=True):
        if line.by.kind == "human":
            assert shown.setdefault(label, line.by.id) == line.by.id
    typed = typable(header.text, [p.name for p in given.participants], [])
    assert typed.replace("\u2060", "") == header.text
