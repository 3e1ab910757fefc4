"""Whom a message is for."""

from dataclasses import replace

from contract.chat import Room, unaddressed
from gateway.core.addressing import named, said_to
from gateway.settings.personas.personas import FrontMatter, Persona
from tests.doubles.platform import ROOM, said

CLAUDE = Persona("claude", FrontMatter(agent="claude-code", aliases=("cc",)), "")
CODEX = Persona("codex", FrontMatter(agent="codex"), "")
BOTH = [CLAUDE, CODEX]


def names(found: list[Persona]) -> list[str]:
    return [persona.name for persona in found]


def test_a_name_or_an_alias_addresses_its_persona_once_in_the_texts_order() -> None:
    assert names(named("@Codex and @cc, also @codex: hello", BOTH)) == ["codex", "claude"]


def test_code_mail_addresses_and_longer_names_address_nobody() -> None:
    text = "see `@claude` and me@claude.dev and @claudette\n```\n@codex\n```\nand @codexes"
    assert named(text, BOTH) == []
    assert named("an open fence\n~~~\n@codex", BOTH) == []


def test_a_room_needs_a_mention_unless_told_otherwise() -> None:
    assert said_to(said("hello"), BOTH) == []
    assert names(said_to(said("hello"), BOTH, require_mention=False)) == ["claude"]
    assert names(said_to(replace(said("hello"), mentioned=True), BOTH)) == ["claude"]
    assert names(said_to(replace(said("hello @codex"), mentioned=True), BOTH)) == ["codex"]


def test_a_direct_message_goes_to_exactly_one() -> None:
    dm = Room("fake:d1", "Ash", "dm")
    assert names(said_to(said("hello", room=dm), BOTH)) == ["claude"]
    assert names(said_to(said("@codex @claude hello", room=dm), BOTH)) == ["codex"]


def test_a_recipient_that_is_set_wins_and_an_unknown_one_is_nobody() -> None:
    assert names(said_to(said("@claude hi", recipient_id="bot:codex"), BOTH)) == ["codex"]
    assert said_to(said("@claude hi", recipient_id="bot:nemo"), BOTH) == []


def test_leading_mentions_are_not_part_of_a_command() -> None:
    assert unaddressed("<@U1> @claude, !stop") == "!stop"
    assert unaddressed("<@U1|moot>: ") == ""
    assert unaddressed("<@!1> <@&2> !stop") == "!stop"
    assert unaddressed("@moot:chat.example.org:8448: !stop") == "!stop"
    assert unaddressed("@claude:fix it") == "fix it"
    assert unaddressed("Claude Bot: !stop") == "!stop"
    assert unaddressed("Note: stop it") == "Note: stop it"
    assert unaddressed("!stop @claude") == "!stop @claude"
    assert ROOM.kind == "room"
