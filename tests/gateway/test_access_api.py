"""The routes below /api/access: what goes in, what is told, and what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from contract.chat import Room
from gateway.audit.audit import AuditFilter
from gateway.core.events import AppEvent
from gateway.settings.access import AccessTable
from gateway.web.page import PageSettings, open_page
from gateway.web.rendering import event_json
from gateway.web.signin.names import SHELL
from tests.doubles.credentials import bearer
from tests.doubles.platform import said
from tests.doubles.running import Opened, gateway

Client = tuple[aiohttp.ClientSession, Opened]
DM = Room("fake:dm-ash", "Ash", "dm")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Client]:
    access = AccessTable(owners=frozenset({"fake:olivia"}))
    async with (
        gateway(tmp_path, access=access) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as session,
    ):
        yield session, moot


async def test_a_role_is_given_listed_and_taken_back(running: Client) -> None:
    session, moot = running
    body = {"person_id": "fake:ash", "role": "member", "room_id": "fake:general"}
    await moot.hear(said("hi"))
    async with session.post("/api/access/grants", json=body) as got:
        given = await got.json()
        assert got.status == 201
    assert given["person_name"] == "Ash"
    assert given["room_name"] == "general"
    assert given["by_name"] == "the command line"
    async with session.get("/api/access") as got:
        told = await got.json()
    assert told["grants"] == [given]
    assert told["configured"] == [
        {"role": "owner", "people": ["fake:olivia"], "rooms": [], "personas": [], "where": ""}
    ]
    assert (told["rooms"], told["dms"], told["pairings"]) == ("closed", "pairing", [])
    assert told["claim"] is None
    await moot.hear(said("@demo hi"))
    await moot.settle()
    assert moot.texts() == ["Respond to Ash in room #general."]
    by = {"by": {"id": "web:andi", "name": "Andi"}}
    async with session.delete(f"/api/access/grants/{given['seq']}", json=by) as got:
        assert got.status == 200
    async with session.delete(f"/api/access/grants/{given['seq']}") as got:
        assert got.status == 404
    assert moot.house.access.kept == ()


@pytest.mark.parametrize(("decision", "answers"), [("approve", 1), ("refuse", 0)])
async def test_a_code_is_decided_once(running: Client, decision: str, answers: int) -> None:
    session, moot = running
    await moot.hear(said("who are you?", room=DM))
    await moot.settle()
    async with session.get("/api/access") as got:
        [waiting] = (await got.json())["pairings"]
    assert (waiting["person_id"], waiting["persona"]) == ("fake:ash", "demo")
    path = f"/api/access/pairings/{waiting['code'].lower()}"
    async with session.post(path, json={"decision": decision}) as got:
        assert (got.status, await got.json()) == (200, waiting)
    async with session.post(path, json={"decision": decision}) as got:
        assert got.status == 404
    await moot.settle()
    assert len(moot.programs.prompts) == answers


@pytest.fixture
async def unowned(tmp_path: Path) -> AsyncIterator[Client]:
    async with (
        gateway(tmp_path, access=AccessTable(rooms="open")) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as session,
    ):
        yield session, moot


async def claim(session: aiohttp.ClientSession) -> dict[str, str] | None:
    async with session.get("/api/access") as got:
        found: dict[str, str] | None = (await got.json())["claim"]
        return found


async def test_who_mentions_first_is_the_owner_once_that_is_confirmed(unowned: Client) -> None:
    session, moot = unowned
    await moot.hear(said("good morning"))
    await moot.hear(said("@demo hi", kind="bot", by="robot"))
    assert await claim(session) is None
    await moot.hear(said("@demo hi"))
    await moot.hear(said("@demo me too", by="olivia"))
    found = await claim(session)
    assert found is not None
    assert (found["person_id"], found["person_name"], found["persona"]) == (
        "fake:ash",
        "Ash",
        "demo",
    )
    assert not moot.house.access.is_owned("fake")
    body = {"person_id": "fake:olivia", "accepts": True}
    async with session.post("/api/access/claim", json=body) as got:
        assert got.status == 404
    async with session.post("/api/access/claim", json={**body, "person_id": "fake:ash"}) as got:
        assert (got.status, (await got.json())["role"]) == (200, "owner")
    assert moot.house.access.is_owned("fake")
    await moot.hear(said("@demo and I?", by="olivia"))
    assert await claim(session) is None


async def test_who_is_not_the_owner_is_not_asked_about_again_and_the_next_one_is(
    unowned: Client,
) -> None:
    session, moot = unowned
    await moot.hear(said("@demo hi"))
    body = {"person_id": "fake:ash", "accepts": False}
    async with session.post("/api/access/claim", json=body) as got:
        assert (got.status, (await got.json())["person_id"]) == (200, "fake:ash")
    await moot.hear(said("@demo hello?"))
    assert await claim(session) is None
    await moot.hear(said("@demo hi", by="olivia"))
    assert (await claim(session) or {})["person_id"] == "fake:olivia"
    assert moot.house.access.kept == ()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"role": "member"}, "person_id"),
        ({"person_id": "*", "role": "member"}, "person_id"),
        ({"person_id": "fake:*", "role": "member"}, "person_id"),
        ({"person_id": "fake:a b", "role": "member"}, "person_id"),
        ({"person_id": "fake:ash", "role": "king"}, "role"),
        ({"person_id": "fake:ash", "role": "member", "room_id": "*"}, "room_id"),
        ({"person_id": "fake:ash", "role": "member", "persona": "../x"}, "persona"),
        ({"person_id": "fake:ash", "role": "member", "where": "all"}, "where"),
        ({"person_id": "fake:ash", "role": "member", "by": "nobody"}, "by"),
        ({"person_id": "fake:ash", "role": "member", "more": 1}, "more"),
    ],
)
async def test_what_can_not_be_kept_is_refused_by_its_name(
    running: Client, body: dict[str, object], field: str
) -> None:
    session, moot = running
    async with session.post("/api/access/grants", json=body) as got:
        assert got.status == 400
        assert (await got.json())["error"]["field"] == field
    assert moot.house.access.kept == ()


async def test_another_web_site_gives_nobody_a_role(running: Client) -> None:
    session, moot = running
    body = {"person_id": "fake:ash", "role": "owner"}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        async with session.post("/api/access/grants", json=body, headers=headers) as got:
            assert got.status == 403
    async with session.post("/api/access/grants", data="person_id=fake:ash") as got:
        assert got.status == 415
    assert moot.house.access.kept == ()


async def test_a_forged_sender_gets_no_more_than_its_role_for_commands(running: Client) -> None:
    """What somebody commands in a room is asked of their role there, whoever brought it."""
    session, moot = running
    metadata = {
        "source": "fake",
        "sender_id": "fake:ash",
        "sender_display_name": "Ash",
        "sender_type": "human",
    }
    body = {"content": "!role fake:ash owner", "metadata": metadata, "room": "fake:general"}
    async with session.post("/api/submit", json={**body, "wait": True}) as got:
        [reply] = (await got.json())["replies"]
    assert reply["text"] == "Ash, `!role` is for owners."
    assert moot.house.access.kept == ()


async def test_docs_show_what_is_told(running: Client) -> None:
    session, moot = running
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    block = (
        page.partition("## Who may do what")[2].partition('    {"rooms"')[2].partition("\n\n")[0]
    )
    shown = json.loads('{"rooms"' + block)
    body = {"person_id": "fake:budi", "role": "member", "where": "dms"}
    async with session.post("/api/access/grants", json=body) as got:
        assert got.status == 201
    await moot.hear(said("who are you?", room=DM))
    async with session.get("/api/access") as got:
        told = await got.json()
    assert shown.keys() == told.keys()
    for name in ("grants", "configured", "pairings"):
        assert [set(row) for row in shown[name]] == [set(row) for row in told[name]]


async def test_every_change_is_told_to_the_page(running: Client) -> None:
    session, moot = running
    heard: list[AppEvent] = []
    moot.house.bus.listeners.add(heard.append)
    body = {"person_id": "fake:budi", "role": "member"}
    async with session.post("/api/access/grants", json=body) as got:
        assert got.status == 201
    assert event_json(heard[0], lambda _: None) == {"type": "access", "room_id": None}


async def test_a_change_is_noted_with_who_made_it(running: Client) -> None:
    session, moot = running
    body = {"person_id": "fake:ash", "role": "guest", "by": {"id": "web:andi", "name": "Andi"}}
    async with session.post("/api/access/grants", json=body) as got:
        assert got.status == 201
    [held] = await moot.house.admissions.grants.listed()
    assert held.by == SHELL  # whose credential it was, whomever it names
    [row] = await moot.house.audit.page(AuditFilter(act="grant"), before=None, limit=9)
    assert (row.by, row.detail["in_name_of"]) == (SHELL, "web:andi")
