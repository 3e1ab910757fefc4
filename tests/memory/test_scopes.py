"""Who may see what."""

import pytest

from contract.chat import Room
from memory.scopes import Invocation, ScopeError, allowed_scopes, home_scope

ROOM = Room("slack:C1", "general", project="saga")
DM = Room("slack:D1", "Andi", "dm")


def test_a_room_sees_itself_its_project_and_what_its_people_shared() -> None:
    seen = allowed_scopes(Invocation(ROOM, "slack:U1", "claude", ("slack:U2",)))
    assert seen == {"room:slack:C1", "profile:slack:U1", "profile:slack:U2", "project:saga"}


def test_a_direct_message_is_one_persons_with_one_persona() -> None:
    seen = allowed_scopes(Invocation(DM, "slack:U1", "claude", ("slack:U2",)))
    assert seen == {"dm:slack:U1:claude", "profile:slack:U1"}
    assert home_scope(DM, "slack:U1", "codex") not in seen


def test_a_group_dm_sees_nothing_but_itself() -> None:
    room = Room("slack:G1", "three of us", "gdm", "saga")
    seen = allowed_scopes(Invocation(room, "slack:U1", "claude", ("slack:U2",)))
    assert seen == {"gdm:slack:G1"}


def test_an_unknown_kind_of_room_sees_only_itself() -> None:
    room = Room("slack:X1", "?", "huddle", "saga")
    assert len(allowed_scopes(Invocation(room, "slack:U1", "claude", ("slack:U2",)))) == 1
    assert home_scope(room, "slack:U1", "claude") != home_scope(DM, "slack:U1", "claude")


@pytest.mark.parametrize(
    ("sender", "room"),
    [
        ("slack:U1", "slack:codex"),  # whose ids end like a direct message with a persona
        ("slack:U1:claude:slack", "slack:codex"),
        ("slack:U1:claude:slack", "slack:codex:14:"),
        ("slack:U1", "slack:claude:slack:codex"),
    ],
)
def test_ids_with_colons_never_make_one_scope_of_two(sender: str, room: str) -> None:
    others = {
        home_scope(DM, one, persona)
        for one in ("slack:U1", "slack:U1:claude", "slack:U1:claude:slack")
        for persona in ("claude", "codex")
    }
    others.add(home_scope(Room("slack:codex:14:", "?", "huddle"), "slack:U1", "claude"))
    mine = home_scope(Room(room, "?", "huddle"), sender, "claude")
    assert mine not in others


@pytest.mark.parametrize("bad", ["", "*", "slack:*", "a b", "a\tb", "a\nb", "a\u2028b", "a\x00b"])
def test_an_id_that_could_match_more_than_itself_is_refused(bad: str) -> None:
    with pytest.raises(ScopeError):
        home_scope(DM, bad, "claude")
    with pytest.raises(ScopeError):
        home_scope(DM, "slack:U1", bad)
    with pytest.raises(ScopeError):
        home_scope(Room(bad, "x"), "slack:U1", "claude")
    with pytest.raises(ScopeError):
        allowed_scopes(Invocation(ROOM, "slack:U1", "claude", (bad,)))


def test_a_scope_that_was_decided_before_is_not_decided_again() -> None:
    known = Invocation(DM, "slack:U1", "claude", scope="dm:slack:U1:claude")
    assert known.home == Invocation(DM, "slack:U1", "claude").home
    assert known.gate == Invocation(DM, "slack:U1", "claude").gate
