"""The pure reader: native message to values, also of what no server should write."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.bluebubbles.events import (
    SOURCE,
    Chat,
    NewMessage,
    external,
    native,
    owner,
    parse_events,
    person,
    room_id,
)
from bots.bluebubbles.posts import mark_of, temp_guid
from bots.bluebubbles.wire import WireMessage
from bots.kit.events import DeletedMessage, EditedMessage, FileRef, RenamedRoom
from bots.kit.inbound import MessageContext, inbound
from bots.kit.naming import names
from contract.chat import EXTERNAL_ID, Room, parse_metadata
from tests.doubles.bluebubbles import DM, GROUP, OLIVIA, chat
from tests.doubles.bot_setup import bot_setup

SETUP = bot_setup("bluebubbles", Path())
MESSAGE: dict[str, Any] = {
    "guid": "G-1",
    "text": "hello",
    "handle": {"address": OLIVIA, "service": "iMessage"},
    "chats": [chat(DM, 45, "", [OLIVIA])],
    "dateCreated": 1_700_000_000_123,
    "isFromMe": False,
}


def read(**changes: Any) -> tuple[object, ...]:
    return parse_events({"type": "new-message", "data": MESSAGE | changes})


def said(**changes: Any) -> NewMessage:
    (found,) = read(**changes)
    assert isinstance(found, NewMessage)
    return found


def test_a_message_is_read_with_what_is_there() -> None:
    assert said() == NewMessage(
        "G-1", Chat(DM, "dm", address=OLIVIA), OLIVIA, False, "hello", 1_700_000_000_123
    )
    bare = {"guid": "G-1", "text": "hello", "handle": {"address": OLIVIA}}
    (found,) = parse_events({"type": "new-message", "data": bare})
    assert isinstance(found, NewMessage)
    assert (found.room, found.sent_ms, found.from_me) == (None, None, False)


def test_numbers_as_texts_and_mistakes_in_what_is_optional_cost_nothing() -> None:
    found = said(dateCreated="1700000000123", isFromMe=0, error="0", attachments=[{"guid": ""}, 7])
    assert (found.content, found.sent_ms, found.files) == ("hello", 1_700_000_000_123, ())
    kept = said(
        attachments=[{"guid": "a", "transferName": "x.txt", "totalBytes": -1}, {"guid": "b"}]
    )
    assert kept.files == (FileRef("b", "b", "application/octet-stream", 0),)


@pytest.mark.parametrize(
    "changes",
    [
        {"associatedMessageType": "love", "associatedMessageGuid": "p:0/G-0"},
        {"associatedMessageType": 2000},
        {"itemType": 2},
        {"groupActionType": 1},
        {"error": 22},
        {"text": None},
        {"text": " \n"},
    ],
)
def test_what_nobody_said_is_nothing(changes: dict[str, Any]) -> None:
    assert read(**changes) == ()


def test_no_tapback_is_told_as_zero_or_nothing() -> None:
    assert said(associatedMessageType="").content == said(associatedMessageType=0).content


def test_one_object_sign_goes_for_each_attachment() -> None:
    file = {"guid": "a", "transferName": "x.txt"}
    assert said(text="\ufffc look \ufffc", attachments=[file]).content == " look \ufffc"
    assert said(text="a \ufffc b").content == "a \ufffc b"
    assert said(text="\ufffc", attachments=[file]).content == ""


def test_a_subject_line_was_typed_too() -> None:
    assert said(subject="Lunch").content == "Lunch\nhello"


def test_link_previews_are_no_files() -> None:
    previews = [
        {"guid": "a", "transferName": "1.pluginPayloadAttachment"},
        {"guid": "b", "transferName": "x", "hideAttachment": True},
    ]
    assert said(attachments=previews).files == ()


@pytest.mark.parametrize(
    ("native_chat", "kind"),
    [
        (chat(DM, 45, "", []), "dm"),
        (chat(GROUP, 43, "", []), "gdm"),
        ({"guid": "any;-;+1555"}, "dm"),
        ({"guid": "SMS;+;chat1"}, "gdm"),
        ({"guid": "what-is-this"}, "gdm"),
    ],
)
def test_a_chat_is_of_its_kind(native_chat: dict[str, Any], kind: str) -> None:
    found = said(chats=[native_chat]).room
    assert found is not None
    assert found.kind == kind


def test_updates_are_edits_removals_or_nothing() -> None:
    def update(**changes: Any) -> tuple[object, ...]:
        return parse_events({"type": "updated-message", "data": MESSAGE | {"chats": []} | changes})

    at = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert update(dateRead=1) == ()
    assert update(dateEdited=1_700_000_000_000) == (EditedMessage(None, "G-1", "hello", at),)
    assert update(dateEdited=1, text="") == (DeletedMessage(None, "G-1"),)
    assert update(dateRetracted=1) == (DeletedMessage(None, "G-1"),)
    assert read(dateRetracted=1) == (DeletedMessage(Chat(DM, "dm", address=OLIVIA), "G-1"),)


def test_a_group_that_is_renamed_is_asked_for_its_name_again() -> None:
    data = MESSAGE | {"itemType": 2, "chats": [chat(GROUP, 43, "New", [])]}
    assert parse_events({"type": "group-name-change", "data": data}) == (RenamedRoom(GROUP),)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@claude hi", True),
        ("hi @Claude!", True),
        ("mail@claude.example", False),
        ("@claudette", False),
        ("claude", False),
        ("@@claude", False),
    ],
)
def test_a_persona_is_named_with_an_at(text: str, named: bool) -> None:
    assert names(text, ["codex", "claude"]) is named


@pytest.mark.parametrize("text", [DM, "DHL Info", "100%", "a*b\tc\u00a0d", "ü@example.org"])
def test_an_id_fits_the_contract_and_leads_back(text: str) -> None:
    assert EXTERNAL_ID.fullmatch(external(text))
    assert native(external(text)) == text
    assert external(DM) == DM


def test_the_owner_has_one_id_in_groups_and_one_in_each_other_chat() -> None:
    group, pair = Chat(GROUP, "gdm"), Chat(DM, "dm", address=OLIVIA)
    assert owner(group).id == owner(pair, alone=True).id == "bb:me"
    assert owner(pair).id == f"bb:me/{OLIVIA}"


def test_quotes_and_blanks_make_no_other_text_and_words_do() -> None:
    assert mark_of('It\'s "done" -- ok') == mark_of("It’s “done” — ok ")
    assert mark_of("one") != mark_of("two")
    assert mark_of("👍") != mark_of("👎")
    assert temp_guid("a") == temp_guid("a") != temp_guid("b")


KEYS = [
    *sorted(field.alias or name for name, field in WireMessage.model_fields.items()),
    *("address", "style", "displayName", "transferName", "totalBytes"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=6)
    ),
    max_leaves=20,
)
TYPES = st.sampled_from(["new-message", "updated-message", "group-name-change"])


def outcome(payload: dict[str, Any]) -> type[Exception] | None:
    try:
        parse_events(payload)
    except ValueError as error:
        return type(error)
    return None


@given(TYPES | JSON, JSON | st.dictionaries(st.sampled_from(KEYS), JSON))
def test_whatever_comes_is_read_or_is_a_value_error(kind: object, data: object) -> None:
    assert outcome({"type": kind, "data": data}) in (None, ValueError)


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.text())
def test_what_is_read_makes_a_message_of_the_contract_or_is_a_value_error(
    changes: dict[str, Any], text: str
) -> None:
    for found in parse_events({"type": "new-message", "data": changes | MESSAGE | {"text": text}}):
        if isinstance(found, NewMessage) and found.room:
            try:
                room = Room(room_id(found.room.guid), "x", found.room.kind)
                by = person(found.sender, "Olivia")
            except ValueError:
                continue
            context = MessageContext(False, datetime.now(UTC), channel=found.room.guid)
            made = inbound(SETUP, SOURCE, found, room, by, context)
            assert parse_metadata(made.meta.model_dump()).channel_external_id == found.room.guid
            assert made.content.endswith(text.replace("\ufffc", "")) or "\ufffc" in text
