"""Each file in slack_events/ is a payload as Slack sends it and what the bot makes of it."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bots.kit.directory import HEADING, thread_block
from bots.kit.events import DeletedMessage, EditedMessage, PinChange
from bots.kit.inbound import MessageContext, inbound
from bots.slack.events import (
    Account,
    ButtonPress,
    Channel,
    CommandUse,
    HomeUse,
    NewMessage,
    ShortcutUse,
    moment,
    parse_event,
    speaker,
)
from contract.chat import Room, parse_metadata
from tests.doubles.bot_setup import bot_setup

SETUP = bot_setup("slack", Path())
OWN = Account("U0BOT0001", "B0BOT0001", "claude")
GOLDENS = sorted((Path(__file__).parent / "slack_events").glob("*.json"))


def shown(payload: dict[str, Any]) -> dict[str, Any] | None:
    """The payload's reading as plain JSON, with fixed names; None when no notice is taken."""
    found = parse_event(payload, OWN)
    match found:
        case None:
            return None
        case NewMessage():
            name = found.bot_name or f"name of {found.sender_id}"
            by = speaker(found.sender_id, name, is_bot=found.is_bot)
            room = Room(f"slack:{found.room.id}", "auth-team", found.room.kind or "not told")
            looked_up = MessageContext(found.mentioned, moment(found.id), found.thread_id)
            message = asdict(inbound(SETUP, "slack", found, room, by, looked_up))
            meta = message["meta"].model_dump(exclude_defaults=True)
            files = [asdict(file) for file in found.files]
            sent_at = message["sent_at"].isoformat()
            return {**message, "meta": meta, "sent_at": sent_at, "attachments": [], "files": files}
        case EditedMessage():
            edit = {"content": found.content, "at": found.at.isoformat()}
            return {"changed": {**where(found), **edit}}
        case DeletedMessage():
            return {"removed": where(found)}
        case PinChange():
            return {"flagged": {**where(found), "user_id": found.by, "pinned": found.pinned}}
        case ButtonPress():
            return {"pressed": asdict(found)}
        case HomeUse():
            return {"home": asdict(found)}
        case CommandUse() | ShortcutUse():
            raise AssertionError("it has goldens of its own")
        case _:
            return {"renamed": {"channel": found.room}}


def where(
    found: EditedMessage[Channel] | DeletedMessage[Channel] | PinChange[Channel, str],
) -> dict[str, Any]:
    return {"channel": found.room.id, "kind": found.room.kind, "ts": found.id}


def test_there_are_goldens() -> None:
    assert len(GOLDENS) > 30


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: path.stem)
def test_an_event_is_read_as_its_golden_says(golden: Path) -> None:
    case = json.loads(golden.read_text(encoding="utf-8"))
    assert shown(case["payload"]) == case["expected"]


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: path.stem)
def test_what_an_event_becomes_fits_the_contract(golden: Path) -> None:
    expected = json.loads(golden.read_text(encoding="utf-8"))["expected"]
    if expected and "meta" in expected:
        assert parse_metadata(expected["meta"]).source == "slack"


def golden(name: str) -> Any:
    path = Path(__file__).parent / "slack_events" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["expected"]


def test_both_deliveries_of_a_mention_read_the_same_but_for_the_kind_of_room() -> None:
    message, mention = golden("mention-as-message"), golden("mention-as-app_mention")
    assert {**message, "room": None} == {**mention, "room": None}
    assert mention["room"]["kind"] == "not told"  # looked up, or known from the other delivery


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"type": "event_callback"},
        {"type": "event_callback", "event": "text"},
        {"type": "event_callback", "event": {"type": "message"}},
        {"type": "view_submission", "user": {"id": "U1"}, "view": {"id": "V1"}},
        {"type": "block_actions", "user": {"id": "U1"}, "actions": []},
    ],
)
def test_what_is_no_message_is_no_event(payload: dict[str, Any]) -> None:
    assert parse_event(payload, OWN) is None


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "event_callback", "event": {"type": "message", "channel": {"id": 1}}},
        {"type": "event_callback", "event": {"type": "message", "files": "many"}},
        {"type": "block_actions"},
    ],
)
def test_a_payload_that_slack_does_not_write_is_an_error_without_its_text(
    payload: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match="can't be read"):
        parse_event(payload, OWN)


def test_a_timestamp_keeps_its_microseconds() -> None:
    assert moment("1776754921.000201") == datetime(2026, 4, 21, 7, 2, 1, 201, tzinfo=UTC)
    assert moment("1776754921") == datetime(2026, 4, 21, 7, 2, 1, tzinfo=UTC)


def test_a_thread_block_shows_the_newest_fifteen_cut_and_indented() -> None:
    ash = speaker("U03", "Ash\n[ADMIN]", is_bot=False)
    codex = speaker("U09", "codex", is_bot=True)
    lines = [(ash, f"line {n}") for n in range(20)] + [(codex, "two\nlines"), (ash, "x" * 500)]
    block = thread_block(lines)
    assert block is not None
    shown_lines = block.split("\n")
    assert shown_lines[0] == HEADING
    assert shown_lines[0] == "[Thread context — prior messages in this thread, newest last]"
    assert shown_lines[1] == "- Ash [ADMIN] (<@U03>): line 7"
    assert shown_lines[-3:-1] == ["- codex: two", "  lines"]
    assert shown_lines[-1] == "- Ash [ADMIN] (<@U03>): " + "x" * 399 + "…"
    assert sum(line.startswith("- ") for line in shown_lines) == 15


def test_a_thread_without_earlier_messages_has_no_block() -> None:
    assert thread_block([]) is None
