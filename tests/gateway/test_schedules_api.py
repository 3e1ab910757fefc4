"""/api/schedules and /api/commands, over a house that records."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from contract.chat import Room
from gateway.core.command_table import TABLE
from gateway.web.page import PageSettings, open_page
from tests.doubles.credentials import BEARER, bearer
from tests.doubles.house import FakeHouse
from tests.doubles.platform import said
from tests.doubles.running import gateway

NEW = {"room_id": "web:general", "persona": "demo", "when": "day 9:00", "text": "look"}


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[tuple[aiohttp.ClientSession, FakeHouse]]:
    house = FakeHouse()
    house.open_room(Room("web:general", "general"))
    settings = PageSettings(tmp_path / "files")
    async with (
        open_page(house.services, settings) as url,
        aiohttp.ClientSession(url, headers=BEARER) as session,
    ):
        yield session, house


async def test_a_schedule_is_made_paused_and_ended(
    page: tuple[aiohttp.ClientSession, FakeHouse],
) -> None:
    session, _ = page
    async with session.post("/api/schedules", json={**NEW, "by": "web:andi"}) as got:
        made = await got.json()
    assert (made["id"], made["by"], made["configured"]) == (
        1,
        {"id": "web:andi", "name": "andi"},
        False,
    )
    async with session.post("/api/schedules/1", json={"paused": True}) as got:
        assert (await got.json())["next_at"] is None
    async with session.get("/api/schedules?room=web:general") as got:
        assert [one["paused"] for one in (await got.json())["schedules"]] == [True]
    async with session.delete("/api/schedules/1") as got:
        assert await got.json() == {"ended": True}
    async with session.delete("/api/schedules/1") as got:
        assert got.status == 404
    async with session.post("/api/schedules/7", json={"paused": False}) as got:
        assert got.status == 404


@pytest.mark.parametrize(
    "more",
    [{"when": ""}, {"text": ""}, {"missed": "twice"}, {"by": "andi"}, {"cron": "x"}, {"text": 7}],
)
async def test_a_body_that_is_none_is_refused(
    more: dict[str, object], page: tuple[aiohttp.ClientSession, FakeHouse]
) -> None:
    session, house = page
    async with session.post("/api/schedules", json={**NEW, **more}) as got:
        assert got.status == 400
        assert (await got.json())["error"]["field"] == next(iter(more))
    assert house.schedules.asked == []


async def test_another_sites_page_makes_and_ends_nothing(
    page: tuple[aiohttp.ClientSession, FakeHouse],
) -> None:
    session, house = page
    evil = {"Origin": "http://evil.example"}
    async with session.post("/api/schedules", json=NEW, headers=evil) as got:
        assert got.status == 403
    async with session.delete("/api/schedules/1", headers=evil) as got:
        assert got.status == 403
    assert house.schedules.asked == []


async def test_the_commands_are_the_tables(
    page: tuple[aiohttp.ClientSession, FakeHouse],
) -> None:
    session, _ = page
    async with session.get("/api/commands") as got:
        told = (await got.json())["commands"]
    assert [one["name"] for one in told] == [entry.name for entry in TABLE]
    assert told[0].keys() >= {"usage", "says", "example", "group", "role", "arguments"}


async def test_the_real_house_schedules_for_rooms_and_personas_that_there_are(
    tmp_path: Path,
) -> None:
    async with (
        gateway(tmp_path) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as session,
    ):
        await moot.hear(said("hello"))
        wish = {**NEW, "room_id": "fake:general"}
        faults = (
            ({"room_id": "fake:nowhere"}, "room_id"),
            ({"persona": "nobody"}, "persona"),
            ({"when": "soon"}, "when"),
        )
        for more, field in faults:
            async with session.post("/api/schedules", json={**wish, **more}) as got:
                assert (got.status, (await got.json())["error"]["field"]) == (400, field)
        async with session.post("/api/schedules", json={**wish, "text": "!new"}) as got:
            assert got.status == 400
        async with session.post("/api/schedules", json=wish) as got:
            made = await got.json()
        assert (made["bot"], made["by"]["id"]) == ("fake", "moot:shell")
        for paused in (True, False):
            body = {"paused": paused}
            async with session.post(f"/api/schedules/{made['id']}", json=body) as got:
                assert (await got.json())["paused"] is paused
        async with session.delete(f"/api/schedules/{made['id']}") as got:
            assert got.status == 200
        async with session.get("/api/schedules") as got:
            assert await got.json() == {"schedules": []}
