"""What the body of a submitted message may look like, and what is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from contract.chat import Attachment, Room
from contract.errors import Rejected
from gateway.web.submission import RoomRef, Submission, SubmitBody, parse_submission, wait_seconds

NOW = datetime(2026, 4, 21, 7, 2, tzinfo=UTC)
META = {
    "source": "slack",
    "sender_id": "slack:U1",
    "sender_display_name": "Olivia",
    "sender_type": "human",
}
BODY: dict[str, Any] = {"content": " hi ", "metadata": META, "room": "slack:C1"}


def parse(**changes: Any) -> Submission:
    return parse_submission({**BODY, **changes}, now=NOW, new_id=lambda: "fresh")


def test_the_content_stays_what_was_typed() -> None:
    assert parse(content="  [Alice]: do it\r\n").content == "  [Alice]: do it\r\n"
    assert parse(content="").content == ""


def test_a_room_is_an_id_or_an_object_or_follows_from_the_channel() -> None:
    assert parse().room == RoomRef("slack:C1")
    told = {"id": "slack:C1", "name": "auth-team", "kind": "room", "project": "saga-ai"}
    assert parse(room=told).room == RoomRef("slack:C1", "auth-team", "room", "saga-ai")
    channel = {**META, "channel_external_id": "C9"}
    assert parse(room=None, metadata=channel).room == RoomRef("slack:C9")


def test_metadata_may_stand_flat_and_unknown_keys_are_kept() -> None:
    flat = parse_submission({"content": "x", "room": "slack:C1", **META, "team": "T1"}, now=NOW)
    assert flat.meta.sender_id == "slack:U1"
    assert flat.meta.model_extra == {"team": "T1"}


def test_nested_metadata_wins_over_flat() -> None:
    assert parse(sender_display_name="Mallory").meta.sender_display_name == "Olivia"


def test_times_are_told_in_utc_and_default_to_now() -> None:
    assert parse().sent_at == NOW
    assert parse(sent_at="2026-04-21T14:02:00+07:00").sent_at == NOW
    assert parse(sent_at="2026-04-21T07:02:00Z").sent_at == NOW


def test_the_message_id_is_the_platforms_or_the_guid_or_a_new_one() -> None:
    assert parse(message_id="171.5").message_id == "171.5"
    assert parse(metadata={**META, "message_guid": "guid-1"}).message_id == "guid-1"
    assert parse().message_id == "fresh"


def test_attachments_take_sizes_and_types_by_either_name() -> None:
    given = [{"name": "a.txt", "mime_type": "text/plain", "size": 3, "path": "/tmp/a.txt"}]
    assert parse(attachments=given).attachments == (
        Attachment("a.txt", "text/plain", 3, "/tmp/a.txt"),
    )
    assert parse(attachments=None).attachments == ()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"content": None}, "content"),
        ({"content": 5}, "content"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {}}, "source"),
        ({"metadata": {**META, "sender_id": "Olivia"}}, "sender_id"),
        ({"metadata": {**META, "sender_id": "discord:1"}}, "sender_id"),
        ({"metadata": {**META, "sender_display_name": ""}}, "sender_display_name"),
        ({"metadata": {**META, "sender_type": "alien"}}, "sender_type"),
        ({"room": None}, "room"),
        ({"room": 5}, "room"),
        ({"room": {}}, "room.id"),
        ({"room": {"id": "slack:C1", "kind": 5}}, "room.kind"),
        ({"room": "C1"}, "room"),
        ({"room": "slack:"}, "room"),
        ({"room": "slack:*"}, "room"),
        ({"room": "slack:a b"}, "room"),
        ({"room": {"id": "slack:C1", "project": "a b"}}, "room.project"),
        ({"room": None, "metadata": {**META, "channel_external_id": "a b"}}, "channel_external_id"),
        ({"message_id": ""}, "message_id"),
        ({"message_id": 5}, "message_id"),
        ({"message_id": "x" * 256}, "message_id"),
        ({"thread_id": "a\nb"}, "thread_id"),
        ({"sent_at": 1_776_754_920}, "sent_at"),
        ({"sent_at": "1776754920"}, "sent_at"),
        ({"sent_at": "2026-04-21T14:02:00"}, "sent_at"),
        ({"sent_at": "0001-01-01T00:00:00+14:00"}, "sent_at"),
        ({"attachments": {}}, "attachments"),
        ({"attachments": ["a.txt"]}, "attachments.0"),
        ({"attachments": [{"size_bytes": -1}]}, "attachments.0.size_bytes"),
        ({"attachments": [{"name": 5}]}, "attachments.0.name"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_field(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(Rejected) as refusal:
        parse(**changes)
    assert refusal.value.field == field


def test_a_direct_message_belongs_to_one_person() -> None:
    web = {**META, "source": "web", "sender_id": "web:ana"}
    assert parse(metadata=web, room="web:dm-ana-demo").room.id == "web:dm-ana-demo"
    with pytest.raises(Rejected, match="somebody else"):
        parse(metadata=web, room="web:dm-budi-demo")
    with pytest.raises(Rejected, match="somebody else"):
        parse(room="web:dm-ana-demo")


def test_a_caller_may_name_a_room_and_may_not_change_its_kind_or_project() -> None:
    known = Room("slack:C1", "old", "gdm", "saga-ai")
    told = RoomRef("slack:C1", "new", "room", "other")
    assert told.resolve(known) == Room("slack:C1", "new", "gdm", "saga-ai")
    assert RoomRef("slack:C1").resolve(None) == Room("slack:C1", "C1", "room")
    assert RoomRef("web:dm-ana-demo", "demo", "room").resolve(None).kind == "dm"


def test_a_wait_is_true_or_seconds() -> None:
    def wait(value: object) -> float | None:
        return wait_seconds({"wait": value}, default_s=300, most_s=600)

    assert (wait(None), wait(False), wait(True), wait(2.5)) == (None, None, 300, 2.5)
    for wrong in (0, -1, 601, "5", [1], float("inf"), float("nan")):
        with pytest.raises(Rejected, match="wait"):
            wait(wrong)


def test_the_schema_takes_what_the_parser_takes() -> None:
    schema = SubmitBody.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for good in (BODY, {"content": "x", **META}, {**BODY, "room": {"id": "slack:C1"}, "wait": 5}):
        jsonschema.validate(good, schema)
    for wrong in ({}, {"content": "x"}, {**BODY, "content": 1}, {**BODY, "metadata": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
