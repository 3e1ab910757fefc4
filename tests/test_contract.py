"""The ingest contract: four fields are validated, and nothing is lost for the others."""

from typing import Any

import pytest

from contract.chat import parse_metadata
from contract.errors import Rejected

GOOD: dict[str, Any] = {
    "source": "slack",
    "sender_id": "slack:U06STGBF4Q0",
    "sender_display_name": "Olivia",
    "sender_type": "human",
}


@pytest.mark.parametrize("name", list(GOOD))
def test_each_required_field_is_named_when_it_is_missing(name: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_metadata({key: value for key, value in GOOD.items() if key != name})
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("source", "Slack"),
        ("source", ""),
        ("source", 7),
        ("sender_id", "U06STGBF4Q0"),
        ("sender_id", "discord:U06"),
        ("sender_id", "slack:"),
        ("sender_id", "slack:*"),
        ("sender_id", "slack:a b"),
        ("sender_id", None),
        ("sender_display_name", ""),
        ("sender_type", "ape"),
    ],
)
def test_each_required_field_is_named_when_it_is_wrong(name: str, value: object) -> None:
    with pytest.raises(Rejected) as caught:
        parse_metadata({**GOOD, name: value})
    assert caught.value.field == name


def test_bluebubbles_has_a_short_alias() -> None:
    for prefix in ("bb", "bluebubbles"):
        meta = parse_metadata({**GOOD, "source": "bluebubbles", "sender_id": f"{prefix}:+1555"})
        assert meta.sender_id == f"{prefix}:+1555"
    with pytest.raises(Rejected):
        parse_metadata({**GOOD, "sender_id": "bb:+1555"})


def test_extra_keys_are_kept_and_wrong_optional_ones_count_as_absent() -> None:
    meta = parse_metadata({**GOOD, "passive": "perhaps", "mention_token": 3, "team": {"id": "T1"}})
    assert (meta.passive, meta.mention_token) == (False, None)
    assert meta.model_extra == {"team": {"id": "T1"}}


def test_a_bot_has_no_mention_token() -> None:
    meta = parse_metadata({**GOOD, "sender_type": "bot", "mention_token": "<@U1>"})
    assert meta.speaker().mention is None
