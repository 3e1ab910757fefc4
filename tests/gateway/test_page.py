"""The routes of the HTTP API: what goes in, what comes out, and what is refused."""

from __future__ import annotations

import gzip
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from composer.attribution import strip_baked_prefix
from contract.chat import Room, Speaker
from contract.errors import MootError
from tests.doubles.bundle import SCRIPT, STATIC
from tests.doubles.credentials import BEARER
from tests.doubles.house import FakeHouse
from tests.gateway.conftest import get, post

Client = aiohttp.ClientSession
META = {
    "source": "web",
    "sender_id": "web:ana",
    "sender_display_name": "Ana",
    "sender_type": "human",
}
BODY: dict[str, Any] = {"content": "@demo hi", "metadata": META, "room": "web:general"}
ANA = Speaker("web:ana", "Ana")
GENERAL = Room("web:general", "general")


# ── Rooms, turns, people ────────────────────────────────────────────────────────────────


async def test_rooms_are_listed_and_opened(client: Client, house: FakeHouse) -> None:
    opened = await post(client, "/api/rooms", {"name": "  Auth   team "}, 201)
    assert opened == {
        "id": "web:auth-team",
        "name": "Auth team",
        "kind": "room",
        "project": None,
        "last_at": None,
    }
    assert (await get(client, "/api/rooms"))["rooms"] == [opened]


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\x00b", 5, None])
async def test_a_room_needs_a_name(client: Client, name: object) -> None:
    refusal = await post(client, "/api/rooms", {"name": name}, 400)
    assert refusal["error"]["field"] == "name"
    assert (await post(client, "/api/rooms", {}, 400))["error"]["field"] == "name"


async def test_messages_come_in_stretches_oldest_first(client: Client, house: FakeHouse) -> None:
    start = datetime(2026, 4, 21, tzinfo=UTC)
    for n in range(5):
        house.say(GENERAL, ANA, f"m{n}", id=f"i{n}", at=start + timedelta(minutes=n))
    newest = await get(client, "/api/rooms/web%3Ageneral/messages?limit=2")
    assert [m["text"] for m in newest["messages"]] == ["m3", "m4"]
    assert newest["more"] is True
    older = await get(client, "/api/rooms/web:general/messages?limit=9&before=i3")
    assert [m["text"] for m in older["messages"]] == ["m0", "m1", "m2"]
    assert older["more"] is False
    assert older["messages"][0]["at"] == "2026-04-21T00:00:00Z"


async def test_the_newest_stretch_tells_what_is_open(client: Client, house: FakeHouse) -> None:
    receipt = await post(client, "/api/submit", BODY)
    [turn_id] = receipt["turn_ids"]
    house.move(turn_id, "running")
    house.draft(turn_id, "So far")
    question = house.ask(turn_id, "Run it?", "ls", "Yes", "No")
    shown = await get(client, "/api/rooms/web:general/messages")
    assert shown["turns"][0]["draft"] == "So far"
    assert shown["questions"][0]["id"] == question
    assert shown["questions"][0]["options"][1] == {"label": "No", "refuses": True}


async def test_a_room_id_may_hold_a_slash(client: Client, house: FakeHouse) -> None:
    house.say(Room("matrix:!a/b:example.org", "x"), ANA, "hi")
    shown = await get(client, "/api/rooms/matrix%3A%21a%2Fb%3Aexample.org/messages")
    assert shown["messages"][0]["text"] == "hi"


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "1.5", "", "٣", "99999999999"])
async def test_a_wrong_limit_is_refused(client: Client, house: FakeHouse, limit: str) -> None:
    house.open_room(GENERAL)
    refusal = await get(client, f"/api/rooms/web:general/messages?limit={limit}", 400)
    assert refusal["error"]["field"] == "limit"


async def test_what_is_not_there_is_a_404(client: Client) -> None:
    for path in (
        "/api/rooms/web:none/messages",
        "/api/turns/none",
        "/api/sessions/none/terminal",
        "/api/files/none",
        "/api/none",
        "/none",
    ):
        assert (await get(client, path, 404))["error"]["message"]


async def test_a_wrong_method_says_which_are_right(client: Client) -> None:
    async with client.delete("/api/rooms") as response:
        assert response.status == 405
        assert "POST" in response.headers["Allow"]
        assert (await response.json())["error"]


async def test_a_turn_tells_all_that_is_on_record(client: Client, house: FakeHouse) -> None:
    [turn_id] = (await post(client, "/api/submit", BODY))["turn_ids"]
    house.finish(turn_id, "Hello Ana")
    record = await get(client, f"/api/turns/{turn_id}")
    assert record["raw"]["content"] == "@demo hi"
    assert record["header"].startswith("[SESSION CONTEXT]\n")
    assert record["sections"][1]["name"] == "RECALL"
    assert record["sections"][1]["items"][0]["score"] == 0.82
    assert record["trims"][0]["chars"] == 4210
    assert record["left_out"] == [{"layer": "recall", "reason": "took too long"}]
    assert [state["state"] for state in record["states"]] == ["queued", "answered", "posted"]
    assert record["answer"] == {
        "text": "Hello Ana",
        "source": "record",
        "ended_by": "hook",
        "tools": ["Read", "Bash"],
    }
    assert record["posts"][0]["state"] == "posted"
    assert record["timings"][0] == {"name": "recall", "ms": 41, "after_ms": 2}
    assert (record["hop"], record["agent"], record["persona"]) == (0, "Scripted demo", "demo")


async def test_personas_people_and_sessions_are_listed(client: Client, house: FakeHouse) -> None:
    house.say(GENERAL, ANA, "hi")
    personas = (await get(client, "/api/personas"))["personas"]
    assert [p["name"] for p in personas] == ["demo", "claude", "codex"]
    assert personas[2]["hint"]
    assert personas[2]["available"] is False
    people = (await get(client, "/api/people"))["people"]
    assert people == [{"id": "web:ana", "name": "Ana", "kind": "human", "role": None}]
    assert (await get(client, "/api/sessions"))["sessions"] == []


async def test_a_question_is_answered_once_by_those_who_may(
    client: Client, house: FakeHouse
) -> None:
    [turn_id] = (await post(client, "/api/submit", BODY))["turn_ids"]
    question = f"/api/questions/{house.ask(turn_id, 'Run?', 'ls', 'Yes', 'No', may_answer=(ANA,))}"
    assert (await post(client, question, {"option": 0, "by": "web:budi"}, 403))["error"]
    assert (await post(client, question, {"option": 7, "by": "web:ana"}, 400))["error"]
    stale = {"option": 1, "by": "web:ana", "digest": "0" * 16}
    refusal = await post(client, question, stale, 409)
    assert "not the question that you saw" in refusal["error"]["message"]
    by = {"id": "web:ana", "name": "Ana"}
    [shown] = (await get(client, "/api/rooms/web:general/messages"))["questions"]
    taken = await post(client, question, {"option": 1, "by": by, "digest": shown["digest"]})
    assert taken == {"choice": "taken"}
    assert house.calls[-1].given[1:] == (1, ANA)
    assert (await post(client, question, {"option": 0, "by": "web:ana"}, 409))["error"]
    assert (await post(client, "/api/questions/none", {"option": 0, "by": "web:ana"}, 404))["error"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "by"),
        ({"option": 0}, "by"),
        ({"option": "0", "by": "web:ana"}, "option"),
        ({"option": True, "by": "web:ana"}, "option"),
        ({"option": -1, "by": "web:ana"}, "option"),
        ({"option": 0, "by": "Ana"}, "by"),
        ({"option": 0, "by": "web:*"}, "by"),
        ({"option": 0, "by": 5}, "by"),
        ({"option": 0, "by": {"name": "Ana"}}, "by"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_refused(
    client: Client, body: dict[str, object], field: str
) -> None:
    refusal = await post(client, "/api/questions/q1", body, 400)
    assert refusal["error"]["field"] == field


async def test_what_the_page_begins_with_comes_in_one_answer(
    client: Client, house: FakeHouse
) -> None:
    await post(client, "/api/submit", BODY)
    begun = await get(client, "/api/start")
    for path in ("rooms", "personas", "people", "commands"):
        assert begun[path] == (await get(client, f"/api/{path}"))[path]
    assert begun["me"] == await get(client, "/api/me")
    assert begun["timeline"] == await get(client, "/api/rooms/web:general/messages?limit=50")
    await post(client, "/api/submit", BODY | {"content": "said before the stream was open"})
    async with client.get("/api/events", params={"after": begun["position"]}) as stream:
        assert stream.content.at_eof() is False
        told = b""
        while b"said before the stream was open" not in told:
            told += await stream.content.readany()
    assert b'"resumed":true' in told


# ── The page itself, and failures ───────────────────────────────────────────────────────


async def test_every_answer_keeps_browsers_strict(client: Client) -> None:
    for path in ("/", SCRIPT, "/api/rooms", "/api/none", "/healthz"):
        async with client.get(path) as response:
            assert "default-src 'self'" in response.headers["Content-Security-Policy"]
            assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_documents_are_asked_for_and_their_files_are_kept(client: Client) -> None:
    async with client.get("/") as response:
        assert response.headers["Cache-Control"] == "no-store"  # it holds messages
        assert SCRIPT in await response.text()
    async with client.get("/sign-in") as response:
        assert response.headers["Cache-Control"] == "no-cache"
        tag = response.headers["ETag"]
    async with client.get("/sign-in", headers={"If-None-Match": tag}) as response:
        assert response.status == 304
    async with client.get("/sign-in", headers={"If-None-Match": '"old"'}) as response:
        assert response.status == 200
    async with client.get(SCRIPT) as response:
        assert response.content_type == "text/javascript"
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    async with client.get("/api/rooms") as response:
        assert response.headers["Cache-Control"] == "no-store"


async def test_files_are_packed_for_whoever_can_unpack_them(url: str) -> None:
    async with aiohttp.ClientSession(url, headers=BEARER, auto_decompress=False) as client:
        bodies: dict[str, bytes] = {}
        for coding in ("identity", "gzip;q=0", "br, gzip"):
            async with client.get(SCRIPT, headers={"Accept-Encoding": coding}) as response:
                assert response.headers["Vary"] == "Accept-Encoding"
                packed = response.headers.get("Content-Encoding")
                assert packed == ("gzip" if coding == "br, gzip" else None)
                bodies[coding] = await response.read()
    assert gzip.decompress(bodies["br, gzip"]) == bodies["identity"] == bodies["gzip;q=0"]
    assert len(bodies["br, gzip"]) < len(bodies["identity"]) / 2


@pytest.mark.parametrize(
    "path",
    [
        "/static/../page.py",
        "/static/..%2fpage.py",
        "/static/%2e%2e/page.py",
        "/static//etc/passwd",
        "/static/%2Fetc%2Fpasswd",
        SCRIPT + "%00.css",
        "/static/index.html",
        "/static/parts.json",
        "/static/",
        "/static/..",
        "/api/files/..%2f..%2fetc",
        "/api/files/" + "a" * 32,
    ],
)
async def test_tricks_with_paths_lead_nowhere(client: Client, url: str, path: str) -> None:
    from yarl import URL

    async with client.get(URL(url.rstrip("/") + path, encoded=True)) as response:
        assert response.status == 404


def test_the_page_asks_nobody_else_for_anything() -> None:
    for path in (path for path in STATIC.rglob("*") if path.is_file() and path.suffix != ".png"):
        name, text = path.name, path.read_text("utf-8")
        outside = text.replace("https?://", "")
        outside = re.sub(r"https://[\w.]*\bexample\.org", "", outside)  # shown as an example
        for space in ("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"):
            outside = outside.replace(space, "")
        assert "://" not in outside.replace('"://"', ""), name
        assert "innerHTML" not in text, name
        assert "eval(" not in text, name


async def test_health_and_metrics(client: Client, house: FakeHouse) -> None:
    assert await get(client, "/healthz") == {"ok": True, "detail": {"store": "ok"}}
    async with client.get("/metrics") as response:
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert "moot_messages_total 3.0" in await response.text()
    house.raises = RuntimeError("broken")
    assert (await get(client, "/healthz", 503))["ok"] is False


async def test_a_fault_in_the_house_is_told_without_a_traceback(
    client: Client, house: FakeHouse, caplog: pytest.LogCaptureFixture
) -> None:
    house.raises = RuntimeError("secret inside")
    with caplog.at_level(logging.ERROR, "moot.gateway"):
        fault = await post(client, "/api/submit", BODY, 500)
    assert "secret" not in fault["error"]["message"]
    assert "secret inside" in caplog.text
    house.raises = MootError("disk full on /dev/sda1", say="Moot's disk is full.")
    fault = await post(client, "/api/submit", BODY, 503)
    assert fault["error"]["message"] == "Moot's disk is full."


def test_a_prefix_of_old_rows_is_stripped_for_display_only() -> None:
    assert strip_baked_prefix("[Slack channel:C1 user:Olivia (<@U1>)] hello") == "hello"
    assert strip_baked_prefix("[Discord channel:9 user:Olivia] [x]: y") == "[x]: y"
    assert strip_baked_prefix("[Olivia]: hello") == "hello"
    assert strip_baked_prefix("hello [Olivia]: x") == "hello [Olivia]: x"


async def test_only_old_rows_lose_their_prefix(client: Client, house: FakeHouse) -> None:
    house.say(GENERAL, ANA, "[Ana]: old", legacy=True)
    house.say(GENERAL, ANA, "[Alice]: do it")
    shown = await get(client, "/api/rooms/web:general/messages")
    assert [m["text"] for m in shown["messages"]] == ["old", "[Alice]: do it"]
