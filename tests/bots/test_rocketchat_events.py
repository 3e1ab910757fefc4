"""What a message of Rocket.Chat's tells, whatever shape its server gives it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bots.kit.events import DeletedMessage, EditedMessage, FileRef, PinChange
from bots.rocketchat.events import (
    Account,
    EncryptedMessage,
    NewMessage,
    PlatformEvent,
    SeenMessage,
    glimpse,
    parse_message,
)
from bots.rocketchat.wire import message, moment

OWN = Account("us", "claude", "Claude", frozenset({"bot"}))
AT = datetime(2026, 11, 21, 20, 52, 37, 628000, tzinfo=UTC)
LEAST: dict[str, Any] = {
    "_id": "m1",
    "rid": "r1",
    "ts": {"$date": 1795294357628},
    "u": {"_id": "o"},
}


def told(
    before: SeenMessage | None = None, *, missed: bool = False, **fields: Any
) -> list[PlatformEvent]:
    return parse_message(message({**LEAST, **fields}), before, OWN, since=AT, missed=missed)


@pytest.mark.parametrize(
    "ts",
    [{"$date": 1795294357628}, "2026-11-21T20:52:37.628Z", 1795294357628, "1795294357628"],
)
def test_a_time_is_read_in_every_form(ts: Any) -> None:
    assert moment(ts) == AT


@pytest.mark.parametrize("ts", [None, "", "soon", [], True, {"$date": "soon"}, 10**30])
def test_what_is_no_time_is_refused(ts: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        message({**LEAST, "ts": ts})


def test_the_least_that_a_message_has_will_do() -> None:
    (said,) = told(msg="hi")
    assert isinstance(said, NewMessage)
    assert (said.content, said.name, said.at, said.mentioned) == ("hi", "", AT, False)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("[ ](https://x.y/a?msg=b1) so", "b1"),
        (" [](https://x.y/a?msg=b1&msg=c2&d=e) so", "c2"),
        ("[ ](https://x.y/a?msg=b1 so", None),
        ("[ ](https://x.y/a?msg=b1 c) so", None),
        ("so [ ](https://x.y/a?msg=b1)", None),
    ],
)
def test_a_quoted_message_is_answered(text: str, quoted: str | None) -> None:
    (said,) = told(msg=text)
    assert isinstance(said, NewMessage)
    assert said.reply_to == quoted


@pytest.mark.parametrize("field", ["_id", "rid", "ts", "u"])
def test_without_its_place_its_time_or_its_author_it_is_none(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        message({k: v for k, v in LEAST.items() if k != field})


def test_optional_fields_of_a_strange_shape_count_as_absent() -> None:
    strange: dict[str, Any] = dict.fromkeys(
        ("alias", "tmid", "attachments", "files", "file", "reactions", "pinned", "mentions"), 7.5
    )
    (said,) = told(msg="hi", **strange | {"alias": None, "tmid": None, "editedAt": "?"})
    assert isinstance(said, NewMessage)
    assert (said.files, said.thread_id) == ((), None)
    (said,) = told(msg=None, mentions=[None, 3, {"username": "x"}, {"_id": "us"}], reactions=[])
    assert isinstance(said, NewMessage)
    assert (said.content, said.mentioned) == ("", True)


def test_sizes_come_as_numbers_or_as_texts() -> None:
    (said,) = told(file={"_id": "f", "name": "a", "type": "b/c", "size": "12"})
    assert isinstance(said, NewMessage)
    assert said.files == (FileRef("f", "a", "b/c", 12),)


@pytest.mark.parametrize(
    "sign",
    [
        {"editedAt": {"$date": 1795294357628}},
        {"reactions": {":tada:": {"usernames": ["ash"]}}},
        {"tcount": 1},
        {"replies": ["x"]},
        {"starred": [{"_id": "x"}]},
        {"pinned": True, "pinnedBy": {"username": "ash"}},
    ],
)
def test_what_was_told_before_is_said_again_only_after_a_gap(sign: dict[str, Any]) -> None:
    assert not any(isinstance(n, NewMessage) for n in told(msg="hi", **sign))
    assert isinstance(told(msg="hi", missed=True, **sign)[0], NewMessage)
    seen = glimpse(message({**LEAST, "msg": "hi"}))
    assert not any(isinstance(n, NewMessage) for n in told(seen, msg="hi", missed=True, **sign))


def test_a_sign_that_overtakes_its_message_does_not_hide_it() -> None:
    reacted: dict[str, Any] = {"reactions": {":tada:": {"usernames": ["ash"]}}}
    at = AT.timestamp() * 1000
    soon, late = {"$date": at + 20}, {"$date": at + 60_000}
    (said,) = told(msg="hi", _updatedAt=soon, **reacted)
    assert isinstance(said, NewMessage)
    assert told(msg="hi", _updatedAt=late, **reacted) == []


def test_an_edit_is_news_when_its_text_is() -> None:
    edited: dict[str, Any] = {"editedAt": {"$date": 1795294357628}}
    assert told(SeenMessage("a"), msg="b", **edited) == [EditedMessage("r1", "m1", "b", AT)]
    assert told(SeenMessage("b"), msg="b", **edited) == []
    assert told(SeenMessage("a"), msg="b") == []


def test_what_the_room_says_of_itself_is_nobody_s_message() -> None:
    assert told(msg="olivia", t="uj") == []
    assert told(msg="cipher", t="e2e") == [EncryptedMessage("r1", None, mentioned=False)]
    assert told(msg="", t="rm") == [DeletedMessage("r1", "m1")]
    assert told(msg="", _hidden=True) == [DeletedMessage("r1", "m1")]
    link = {"message_link": "https://chat.example/channel/general?msg=abc"}
    user = {"_id": "o", "username": "olivia"}
    notice = told(msg="", t="message_pinned", attachments=[link], u=user)
    assert notice == [PinChange("r1", "abc", "olivia", pinned=True)]
    assert told(msg="", t="message_pinned", attachments=[{"text": "x"}]) == []


def test_a_pin_is_told_once_and_taken_back_once() -> None:
    by = {"_id": "a", "username": "ash"}
    pin: PinChange[str, str | None] = PinChange("r1", "m1", "ash", pinned=True)
    assert told(SeenMessage("x"), msg="x", pinned=True, pinnedBy=by) == [pin]
    assert told(SeenMessage("x", pinned=True), msg="x", pinned=True, pinnedBy=by) == []
    gone = told(SeenMessage("x", pinned=True), msg="x", pinned=False, pinnedBy=by)
    assert gone == [PinChange("r1", "m1", "ash", pinned=False)]
