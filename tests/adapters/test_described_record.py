"""A record that an owner described."""

import pytest

from adapters.profiles.generic import GenericSettings, generic_profile
from adapters.records.described import RecordSettings
from adapters.turn_events import ReplyBlock, ReplyEnded, SessionNamed

PI = {
    "file": ".pi/*.jsonl",
    "reply": {"type": "message", "message.role": "assistant"},
    "text": "message.content.0.text",
    "end": {"type": "end"},
    "session": "session.id",
}


def message(text: object, role: str = "assistant") -> dict[str, object]:
    return {"type": "message", "message": {"role": role, "content": [{"text": text}]}}


def test_rows_become_events() -> None:
    read = RecordSettings.model_validate(PI).record().read
    assert read(message("Hi.")) == [ReplyBlock("Hi.")]
    assert read({"type": "end", "session": {"id": "s1"}}) == [SessionNamed("s1"), ReplyEnded()]


@pytest.mark.parametrize(
    "row",
    [message("Hi.", "user"), message(None), {"type": "message", "message": []}, {}, {"type": 1}],
)
def test_other_rows_mean_nothing(row: dict[str, object]) -> None:
    assert RecordSettings.model_validate(PI).record().read(row) == []


def test_without_an_end_the_first_reply_ends_the_turn() -> None:
    settings = RecordSettings(
        file="log.db",
        query="SELECT id, role, text FROM t WHERE id > ? ORDER BY id",
        reply={"role": 1},
        text="text",
    )
    record = settings.record()
    assert (record.format, record.query) == ("sqlite", settings.query)
    assert record.read({"id": 3, "role": 1, "text": "Hi."}) == [ReplyBlock("Hi."), ReplyEnded()]


def test_a_record_must_say_which_rows_are_the_agents() -> None:
    with pytest.raises(ValueError, match="which rows"):
        RecordSettings(file="x", text="text")


def test_a_described_program_may_keep_a_record() -> None:
    settings = GenericSettings.model_validate({"command": ["pi"], "record": PI})
    record = generic_profile("pi", settings).signs.record
    assert record is not None
    assert record.glob == ".pi/*.jsonl"
