"""The rules of who may do what, by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.matrix.invites import welcome
from contract.chat import Room, Speaker
from contract.errors import ConfigError
from gateway.access.access import Access, Grant
from gateway.access.acts import act_of, least_role
from gateway.core.command_table import TABLE
from gateway.settings.access import AccessTable, GrantTable, PersonaAccessTable
from gateway.settings.config import load_config

ROOM = Room("slack:C1", "general")
OTHER = Room("slack:C2", "other")
DM = Room("slack:D1", "Ash", "dm")
ODD = Room("slack:X1", "odd", "huddle")
WEB = Room("web:general", "general")
ASH = Speaker("slack:U1", "Ash")
BOT = Speaker("slack:B1", "Ads", "bot")


def kept(*grants: Grant, **table: object) -> Access:
    return Access(AccessTable.model_validate(table), grants)


def test_by_default_nobody_may_do_anything() -> None:
    access = kept()
    for room in (ROOM, DM, ODD):
        assert access.role(room, ASH.id) is None
        assert not access.may_invoke(room, ASH.id, "claude")
        assert not access.may_approve(room, ASH, "claude")
        assert not any(access.may(entry.name, room, ASH) for entry in TABLE)
    assert access.table.is_empty


def test_whoever_reaches_the_page_is_an_owner_there_and_nowhere_else() -> None:
    access = kept()
    assert access.may("role", WEB, ASH)
    assert not access.may("help", ROOM, ASH)
    assert not access.may("role", WEB, BOT)


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        ("guest", ["help", "why", "stop", "memory", "recall", "landmarks"], ["new", "pin", "role"]),
        ("member", ["help", "new", "compact", "decision", "unpin"], ["pair", "persona rollback"]),
        ("owner", ["help", "new", "pair", "role", "persona edit", "nothing_known"], []),
    ],
)
def test_a_role_may_do_what_it_is_for(role: str, may: list[str], may_not: list[str]) -> None:
    access = kept(grants=[{"role": role, "people": [ASH.id]}])
    assert [act for act in may if not access.may(act, ROOM, ASH)] == []
    assert [act for act in may_not if access.may(act, ROOM, ASH)] == []


def test_every_command_has_its_least_role() -> None:
    assert {entry.name: least_role(entry.name) for entry in TABLE} == {
        entry.name: entry.role for entry in TABLE
    }
    assert least_role("decision") == "member"
    assert least_role("what_nobody_listed") == "owner"
    assert act_of("persona", "rollback 3") == "persona rollback"
    assert act_of("persona", "history") == "persona"


def test_a_role_of_one_room_or_persona_is_none_elsewhere() -> None:
    here = Grant("owner", frozenset({ASH.id}), rooms=frozenset({ROOM.id}))
    access = kept(here)
    assert access.may("role", ROOM, ASH)
    assert not access.may("help", OTHER, ASH)
    assert not access.may("persona rollback", ROOM, ASH, "claude")
    assert not access.is_owner_everywhere(ROOM, ASH.id)
    with_claude = Grant("owner", frozenset({ASH.id}), personas=frozenset({"claude"}))
    access = kept(with_claude)
    assert access.may_invoke(ROOM, ASH.id, "claude")
    assert not access.may_invoke(ROOM, ASH.id, "codex")
    assert not access.may("persona rollback", ROOM, ASH, "claude")  # it holds in every room
    assert not access.may("role", ROOM, ASH, "claude")  # it would be a role with all of them
    assert not access.is_owner_everywhere(ROOM, ASH.id)


def test_a_role_for_direct_messages_holds_in_odd_rooms_and_in_no_room() -> None:
    access = kept(Grant("member", frozenset({ASH.id}), where="dms"))
    assert access.may_invoke(DM, ASH.id, "claude")
    assert access.may_invoke(ODD, ASH.id, "claude")
    assert not access.may_invoke(ROOM, ASH.id, "claude")
    assert kept(rooms="open").role(ODD, ASH.id) is None


def test_a_persona_may_ask_for_more() -> None:
    access = kept(people=[ASH.id], invoke="guest", personas={"deploy": {"invoke": "owner"}})
    assert access.may_invoke(ROOM, ASH.id, "claude")
    assert not access.may_invoke(ROOM, ASH.id, "deploy")
    assert access.asks_for("deploy") == "owner"


def test_a_bot_never_has_an_owners_powers() -> None:
    access = kept(Grant("owner", frozenset({BOT.id})), personas={"deploy": {"invoke": "owner"}})
    assert access.may_invoke(ROOM, BOT.id, "claude", is_bot=True)
    assert not access.may_invoke(ROOM, BOT.id, "deploy", is_bot=True)
    for act in ("role", "pair", "new", "pin", "1", "persona rollback"):
        assert not access.may(act, ROOM, BOT)
    assert access.may("help", ROOM, BOT)
    for rule in ({"approvers": [BOT.id]}, {"rooms": "open", "approve": "guest"}):
        assert not kept(**rule).may_approve(ROOM, BOT, "claude")
    assert not access.may_approve(Room("web:general", "general"), BOT, "claude")


def test_an_alias_of_a_source_means_the_same_person() -> None:
    room = Room("bluebubbles:c1", "Ash", "dm")
    access = kept(people=["bb:+15550001111"], approvers=["bluebubbles:+15550002222"])
    assert access.may_invoke(room, "bluebubbles:+15550001111", "claude")
    assert access.may_approve(room, Speaker("bb:+15550002222", "Ash"), "claude")
    assert access.is_named("bb:+15550002222")


def test_a_person_is_named_by_their_id_alone() -> None:
    access = kept(Grant("guest", frozenset({ASH.id}), rooms=frozenset({ROOM.id})), rooms="open")
    assert access.is_named(ASH.id)
    assert not access.is_named("slack:U2")
    assert not access.is_named("*")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('owners = ["*"]', 'access.owners: "*" stands in'),
        ('people = ["U06STGBF4Q0"]', "'U06STGBF4Q0' is nobody's id"),
        ('approvers = ["slack:U1 "]', "is nobody's id"),
        ('people = ["slack:"]', "is nobody's id"),
        ('[[access.grants]]\nrole = "owner"\npeople = "*"', "owners are named"),
        ('[[access.grants]]\nrole = "guest"\npeople = "*"\nrooms = "general"', "no room's id"),
        ('[[access.grants]]\nrole = "guest"\npeople = []', "access.grants.0.people"),
    ],
)
def test_an_id_that_is_none_is_one_sentence_with_its_key(
    tmp_path: Path, table: str, says: str
) -> None:
    (tmp_path / "moot.toml").write_text(f"[access]\n{table}\n")
    with pytest.raises(ConfigError, match=r"moot\.toml:\d+: access") as raised:
        load_config(None, base=tmp_path)
    assert says in str(raised.value)


def test_a_table_that_lets_anybody_ask_is_not_empty() -> None:
    for table in (
        AccessTable(rooms="open"),
        AccessTable(dms="open"),
        AccessTable(owners=frozenset({ASH.id})),
        AccessTable(grants=(GrantTable(role="guest", people=frozenset({"*"})),)),
    ):
        assert not table.is_empty
    assert AccessTable(personas={"claude": PersonaAccessTable(invoke="guest")}).is_empty


def test_an_invitation_is_followed_of_whoever_has_a_role_by_then() -> None:
    access = kept(rooms="open")
    people, everybody, nobody = (
        welcome(rule, access.is_named, anyone_listed=True).follows
        for rule in ("people", "everybody", "nobody")
    )
    sender = "matrix:@ash:example.org"
    assert (people(sender), everybody(sender), nobody(sender)) == (False, True, False)
    access.kept = (Grant("guest", frozenset({sender}), rooms=frozenset({"matrix:!r:example.org"})),)
    assert people(sender)
    assert not people("matrix:@budi:example.org")
