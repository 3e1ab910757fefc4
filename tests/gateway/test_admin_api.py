"""The routes below /api/admin: what they show, what they refuse, and whom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from contract.chat import Speaker
from gateway.web.admin.values import WantedTurns
from tests.doubles.admin import AUTH
from tests.doubles.house import FakeHouse
from tests.gateway.conftest import get, post

Client = aiohttp.ClientSession
SESSION = "/api/admin/sessions/claude@room:slack:C1"
ROUTES = ("overview", "bots", "rooms", "sessions", "turns", "statistics", "embedder")


async def test_an_empty_house_is_well(client: Client) -> None:
    shown = await get(client, "/api/admin/overview")
    assert (shown["ok"], shown["problems"], shown["questions"], shown["failed"]) == (
        True, [], [], [],
    )  # fmt: skip
    assert [bot["state"] for bot in shown["bots"]] == ["up"]


async def test_the_overview_tells_what_is_wrong_and_what_waits(
    client: Client, house: FakeHouse
) -> None:
    house.admin.fill()
    message = house.say(AUTH, house.admin.room_lines[0].people[0], "@claude deploy")
    turn_id = house.queue(message, "claude", {}).turn.id
    house.ask(turn_id, "Run?", "git push", "Yes", "No")
    shown = await get(client, "/api/admin/overview")
    assert shown["ok"] is False
    assert [(p["kind"], p["grave"]) for p in shown["problems"]] == [("bot", True), ("agent", False)]
    assert [q["options"][1]["refuses"] for q in shown["questions"]] == [True]
    assert {turn["state"] for turn in shown["failed"]} == {"failed"}


async def test_rooms_sessions_bots_and_days_are_listed(client: Client, house: FakeHouse) -> None:
    house.admin.fill()
    [room, *_] = (await get(client, "/api/admin/rooms"))["rooms"]
    assert (room["id"], room["platform"], room["messages"]) == ("slack:C1", "slack", 412)
    assert [by["name"] for by in room["people"]] == ["Ana Lima", "Budi"]
    assert room["more_people"] == 3
    [session, _] = (await get(client, "/api/admin/sessions"))["sessions"]
    assert (session["state"], session["tokens"], session["cost_usd"]) == ("working", 48_200, 0.41)
    assert [bot["restarts"] for bot in (await get(client, "/api/admin/bots"))["bots"]] == [0, 3, 17]
    days = (await get(client, "/api/admin/statistics?days=7"))["days"]
    assert len(days) == 7
    assert days[-1]["facts"] == 600
    assert days[-1]["spent"][1]["cost_usd"] is None


async def test_the_embedder_is_installed_once_at_a_time(client: Client, house: FakeHouse) -> None:
    path = "/api/admin/embedder"
    assert (await get(client, path))["state"] == "absent"
    assert (await post(client, path, {}))["state"] == "fetching"
    await post(client, path, {}, 409)


async def test_turns_are_filtered_and_paged(client: Client, house: FakeHouse) -> None:
    house.admin.fill()
    page = await get(
        client, "/api/admin/turns?room=slack:C1&persona=claude&state=failed&slow_ms=5000&limit=2"
    )
    wanted = WantedTurns("slack:C1", "claude", None, "failed", 5_000)
    assert house.admin.wanted == [wanted]
    assert len(page["items"]) <= 2
    first = await get(client, "/api/admin/turns?limit=100")
    rest = await get(client, f"/api/admin/turns?before={first['next_before']}")
    assert [t["seq"] for t in first["items"] + rest["items"]] == list(range(119, 0, -1))
    assert rest["next_before"] is None


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("turns?state=lost", "state"),
        ("turns?before=-1", "before"),
        ("turns?limit=0", "limit"),
        ("turns?limit=1e3", "limit"),
        ("turns?slow_ms=99999999999", "slow_ms"),
        ("statistics?days=91", "days"),
        ("statistics?days=٣", "days"),
    ],
)
async def test_a_parameter_that_makes_no_sense_is_refused(
    client: Client, path: str, field: str
) -> None:
    assert (await get(client, f"/api/admin/{path}", 400))["error"]["field"] == field


async def test_a_session_is_stopped_by_somebody(client: Client, house: FakeHouse) -> None:
    house.admin.fill()
    body = {"act": "stop", "by": {"id": "web:ana", "name": "Ana"}}
    assert await post(client, SESSION, body) == {"acted": "stop"}
    ana = Speaker("web:ana", "Ana")
    assert house.admin.acts == [("claude@room:slack:C1", "stop", ana)]


async def test_what_cannot_be_done_with_a_session_is_said(client: Client, house: FakeHouse) -> None:
    house.admin.fill()
    await post(client, "/api/admin/sessions/none", {"act": "stop", "by": "web:ana"}, 404)
    house.admin.acted = "busy"
    await post(client, SESSION, {"act": "sleep", "by": "web:ana"}, 409)
    house.admin.acted = "nothing"
    await post(client, SESSION, {"act": "stop", "by": "web:ana"}, 409)


@pytest.mark.parametrize(
    "body",
    [{}, {"act": "stop"}, {"act": "kill", "by": "web:ana"}, {"act": "stop", "by": "web:*"}],
)
async def test_an_act_that_makes_no_sense_is_refused(
    client: Client, house: FakeHouse, body: dict[str, Any]
) -> None:
    house.admin.fill()
    assert (await post(client, SESSION, body, 400))["error"]["field"] in ("act", "by")
    assert house.admin.acts == []


@pytest.mark.parametrize(
    ("headers", "data", "status"),
    [
        ({"Origin": "https://evil.example"}, '{"act": "stop", "by": "web:x"}', 403),
        ({"Origin": "null"}, '{"act": "stop", "by": "web:x"}', 403),
        ({"Sec-Fetch-Site": "cross-site"}, '{"act": "stop", "by": "web:x"}', 403),
        ({"Sec-Fetch-Site": "same-site"}, '{"act": "stop", "by": "web:x"}', 403),
        ({"Host": "rebound.example"}, '{"act": "stop", "by": "web:x"}', 421),
        ({"Content-Type": "text/plain"}, '{"act": "stop", "by": "web:x"}', 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "act=stop&by=web:x", 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, "--x--", 415),
    ],
)
async def test_another_web_site_can_do_nothing(
    client: Client, house: FakeHouse, headers: dict[str, str], data: str, status: int
) -> None:
    house.admin.fill()
    given = {"Content-Type": "application/json"} | headers
    async with client.post(SESSION, data=data, headers=given) as response:
        assert response.status == status
    assert house.admin.acts == []


@pytest.mark.parametrize("route", ROUTES)
async def test_another_web_site_reads_nothing(client: Client, route: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    async with client.get(f"/api/admin/{route}", headers=headers) as response:
        assert response.status == 403


async def test_the_example_of_the_docs_is_answered(client: Client, house: FakeHouse) -> None:
    house.admin.fill()
    text = (Path(__file__).parents[2] / "docs" / "page.md").read_text("utf-8")
    [path] = re.findall(r"http://127\.0\.0\.1:8377(/api/admin[^']+)", text)
    assert {turn["state"] for turn in (await get(client, path))["items"]} == {"failed"}
