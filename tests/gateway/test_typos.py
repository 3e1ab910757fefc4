"""Misspelt keys of a message's metadata, found by their edit distance."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contract.chat import IngestMetadata, parse_metadata
from gateway.turns.typos import likely_typos

GOOD: dict[str, Any] = {
    "source": "slack",
    "sender_id": "slack:U06STGBF4Q0",
    "sender_display_name": "Olivia",
    "sender_type": "human",
}


def test_a_key_that_is_nearly_a_known_one_is_a_likely_typo() -> None:
    meta = parse_metadata({**GOOD, "mention_tokne": "<@U1>", "pasive": True, "team": "T1"})
    assert likely_typos(meta) == {"mention_tokne": "mention_token", "pasive": "passive"}


def distance(one: str, other: str) -> int:
    """Levenshtein's."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@st.composite
def misspelt(draw: st.DrawFn) -> str:
    letters = list(draw(st.sampled_from(sorted(IngestMetadata.model_fields))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(letters)))
        letters[at : at + draw(st.integers(0, 1))] = draw(st.sampled_from(["", "a", "_"]))
    return "".join(letters)


@given(misspelt())
def test_a_key_within_two_letters_of_a_known_one_is_found_and_no_other(key: str) -> None:
    if key in IngestMetadata.model_fields:
        return
    found = likely_typos(parse_metadata({**GOOD, key: 1})).get(key)
    nearest = min(distance(name, key) for name in IngestMetadata.model_fields)
    assert (found is not None) == (nearest <= 2)
    assert found is None or distance(found, key) == nearest
