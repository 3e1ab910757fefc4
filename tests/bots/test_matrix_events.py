"""Events as values, whatever somebody puts in them."""

from __future__ import annotations

from typing import Any

import pytest

from bots.kit.events import DeletedMessage, EditedMessage
from bots.matrix.directory import RoomState
from bots.matrix.events import (
    AddedReaction,
    NewMessage,
    OwnUser,
    PinnedListChange,
    parse_event,
    parsed,
)
from bots.matrix.posts import replacing, text_content, transaction

OWN = OwnUser("@claude:moot.test", frozenset({"claude", "claude bot"}))
ANDI = "@andi:moot.test"


def read(content: dict[str, Any], kind: str = "m.room.message", **more: Any) -> Any:
    raw = {"type": kind, "event_id": "$1", "sender": ANDI, "origin_server_ts": 1_000}
    event = parsed({**raw, "content": content, **more})
    return parse_event(event, OWN) if event else None


def said(body: str, **more: Any) -> NewMessage:
    found = read({"msgtype": "m.text", "body": body, **more})
    assert isinstance(found, NewMessage)
    return found


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("look", {"m.mentions": {"user_ids": ["@claude:moot.test"]}}),
        ("x", {"formatted_body": '<a href="https://matrix.to/#/@claude:moot.test">C</a>'}),
        ("x", {"formatted_body": '<a href="https://matrix.to/#/%40claude%3Amoot.test">C</a>'}),
        ("ask @claude:moot.test: why", {}),
        ("ask @claude:moot.test.", {}),
        ("Claude: why", {}),
        (" claude bot: why", {}),
        ("what do you think, @Claude?", {}),
        ("claude, what is it", {}),
        ("C: x", {"formatted_body": '<a href="matrix:u/claude:moot.test?action=chat">C</a>: x'}),
        ("C: x", {"formatted_body": '<mx-reply><a href="matrix:u/claude:moot.test">C</a>: x'}),
    ],
)
def test_the_bot_is_addressed(body: str, more: dict[str, Any]) -> None:
    found = said(body, **more)
    assert (found.mentioned, found.content) == (True, body)


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("claude is away", {}),
        ("see @claude:other.test, or me@claude, or @claude.example", {}),
        ("@claude:moot.test.example said so", {}),
        ("an@claude:moot.test", {}),
        ("x", {"m.mentions": {"user_ids": "@claude:moot.test"}}),
        ("x", {"m.mentions": {"room": True}}),
        (
            "x",
            {
                "formatted_body": '<mx-reply><a href="https://matrix.to/#/@claude:moot.test">C</a>'
                "</mx-reply>x"
            },
        ),
    ],
)
def test_the_bot_is_not_addressed(body: str, more: dict[str, Any]) -> None:
    assert not said(body, **more).mentioned


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("> <@a:b> one\n> two\n\nhello\n> a quote", "hello\n> a quote"),
        ("> * <@a:b> waves\n\nhello", "hello"),
        ("> a quote of mine\n\nhello", "> a quote of mine\n\nhello"),
        ("> <@a:b> one\nno empty line", "> <@a:b> one\nno empty line"),
        ("plain", "plain"),
    ],
)
def test_a_replys_quotation_goes_only_in_its_exact_form(body: str, left: str) -> None:
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}}
    assert said(body, **reply).content == left
    assert said(body).content == body


def test_relations_tell_threads_replies_and_edits() -> None:
    thread = {"rel_type": "m.thread", "event_id": "$0", "m.in_reply_to": {"event_id": "$9"}}
    falling = said("x", **{"m.relates_to": {**thread, "is_falling_back": True}})
    real = said("x", **{"m.relates_to": {**thread, "is_falling_back": False}})
    assert (falling.thread_id, falling.reply_to) == ("$0", None)
    assert (real.thread_id, real.reply_to) == ("$0", "$9")
    replaced = {"rel_type": "m.replace", "event_id": "$0"}
    new = {"msgtype": "m.text", "body": "new"}
    edit = read({"body": "* new", "m.new_content": new, "m.relates_to": replaced})
    assert isinstance(edit, EditedMessage)
    assert (edit.id, edit.content) == ("$0", "new")


def test_a_file_has_a_caption_only_when_it_has_a_name_too() -> None:
    file = {
        "msgtype": "m.image",
        "url": "mxc://a/b",
        "info": {"size": "7", "mimetype": "image/png"},
    }
    bare = read({**file, "body": "a.png"})
    captioned = read({**file, "body": "see", "filename": "a.png"})
    assert (bare.content, bare.files[0].name, bare.files[0].mime) == ("", "a.png", "image/png")
    assert (captioned.content, captioned.files[0].name) == ("see", "a.png")


def test_other_events_are_told_as_what_they_are() -> None:
    relation = {"rel_type": "m.annotation", "event_id": "$0", "key": "👍"}
    assert read({"m.relates_to": relation}, "m.reaction") == AddedReaction("$1", "$0", "👍", ANDI)
    assert read({"redacts": "$0"}, "m.room.redaction") == DeletedMessage("", "$0", ANDI)
    assert read({}, "m.room.redaction", redacts="$0") == DeletedMessage("", "$0", ANDI)
    before = {"prev_content": {"pinned": ["$a", "$b"]}}
    pins = read({"pinned": ["$b", "$c"]}, "m.room.pinned_events", state_key="", unsigned=before)
    assert pins == PinnedListChange(("$c",), ("$a",), ANDI)
    assert read({"msgtype": "m.notice", "body": "built"}).is_bot


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"body": 7},
        {"body": None, "m.relates_to": 3},
        {"m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}, "body": "* x"},
    ],
)
def test_what_is_no_message_is_none(content: dict[str, Any]) -> None:
    assert read(content) is None


def test_garbage_around_a_text_costs_nothing_but_itself() -> None:
    found = said(
        "hello",
        **{
            "m.relates_to": {"rel_type": 5, "event_id": [], "m.in_reply_to": "x"},
            "m.mentions": [],
            "formatted_body": {},
            "file": {"url": 1},
        },
    )
    assert (found.content, found.thread_id, found.reply_to) == ("hello", None, None)
    assert read({"body": "x"}, sender="@claude:moot.test") is None
    assert parsed({"type": "m.room.message"}) is None


def test_a_person_in_code_is_not_called() -> None:
    content = text_content(f"{ANDI}, see `@cara:moot.test`\n\n```\n@budi:moot.test\n```")
    assert content["m.mentions"] == {"user_ids": [ANDI]}
    html = f'<p><a href="https://matrix.to/#/{ANDI}">{ANDI}</a>, see <code>@cara:moot.test</code>'
    assert content["formatted_body"].startswith(html)
    assert text_content("mail me@moot.test or x@y:z")["m.mentions"] == {}


def test_nobody_calls_a_whole_room() -> None:
    content = text_content("@room and @Room")
    assert "@room" not in (content["body"] + content["formatted_body"]).lower()
    assert content["m.mentions"] == {}
    assert text_content("@roommate @bedroom")["body"] == "@roommate @bedroom"


def test_a_long_edit_is_not_written_twice() -> None:
    new = text_content("x" * 30_000)
    made = replacing("$0", new, ())
    assert len(made["body"]) < 1_000
    assert made["m.new_content"]["body"] == "x" * 30_000


def test_the_same_key_makes_the_same_transaction() -> None:
    assert transaction("turn/0") == transaction("turn/0") != transaction("turn/1")


def state(*events: tuple[str, str, dict[str, Any]]) -> RoomState:
    made = RoomState("!r")
    for kind, key, content in events:
        event = parsed({"type": kind, "sender": ANDI, "state_key": key, "content": content})
        assert event is not None
        made.apply(event)
    return made


def people(count: int) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        ("m.room.member", f"@p{n}:b", {"membership": "join", "displayname": f"P{n}"})
        for n in range(count)
    ]


def test_a_rooms_kind_and_name_come_from_its_state() -> None:
    named = ("m.room.name", "", {"name": "general"})
    assert state(*people(2)).kind(direct=False) == "dm"
    assert state(*people(2), named).kind(direct=False) == "room"
    assert state(*people(2), named).kind(direct=True) == "dm"
    assert state(*people(3), named).kind(direct=True) == "gdm"
    assert state(*people(3)).kind(direct=False) == "gdm"
    assert state(*people(9)).kind(direct=False) == "room"
    assert state(*people(6)).title(OWN) == "P0, P1, P2 +3"
    assert state(("m.room.canonical_alias", "", {"alias": "#dev:b"})).title(OWN) == "dev"


def test_who_made_a_new_room_stands_above_its_levels() -> None:
    new = state(("m.room.create", "", {"room_version": "12"}))
    old = state(("m.room.create", "", {"room_version": "10"}))
    assert (new.powers.role(ANDI), old.powers.role(ANDI)) == ("admin", None)
    levels = state(("m.room.power_levels", "", {"users": {ANDI: 50, "@b:c": "x"}}))
    assert (levels.powers.role(ANDI), levels.powers.role("@b:c")) == ("moderator", None)
