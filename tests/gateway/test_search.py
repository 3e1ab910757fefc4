"""The search over rooms, the stretch around what it finds, and how far somebody has read, in both
databases and through the HTTP API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from contract.chat import Room
from gateway.settings.access import AccessTable
from gateway.web.page import PageSettings, open_page
from store import searching
from tests.conftest import NewUrl
from tests.doubles.credentials import bearer
from tests.doubles.platform import said as spoken
from tests.doubles.running import gateway
from tests.gateway.test_signin import Door


@pytest.fixture(params=["sqlite", "postgresql"])
async def door(
    request: pytest.FixtureRequest, new_url: NewUrl, tmp_path: Path
) -> AsyncIterator[Door]:
    url = await new_url(request.param)
    async with (
        gateway(tmp_path, access=AccessTable(), url=url) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as address,
        aiohttp.ClientSession(address, cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        await moot.house.services.chat.open_lobby()
        yield Door(moot, address, client, bearer(tmp_path))


async def say(
    at: Door, who: Mapping[str, str], *texts: str, room: Any = "web:general"
) -> list[str]:
    sent = [await at.send("/api/submit", who, {"content": one, "room": room}) for one in texts]
    return [one["message_id"] for one in sent]


async def find(at: Door, who: Mapping[str, str], asked: str, more: str = "") -> list[str]:
    found = await at.get(f"/api/search?q={quote(asked)}{more}", who)
    return [one["text"] for one in found["items"]]


async def test_words_are_found_in_every_script_and_case(door: Door) -> None:
    ada = await door.person("Ada")
    texts = (
        "Die Übergabe an Müller ist 100% fertig",
        "認証トークンの有効期限は30分です",
        "令牌的过期时间是三十分钟",
        "the token's expiry: snake_case [draft] *why*?",
        "ÜBER ALLES, said the Token",
        "Новая Достопримечательность [х]",
    )
    await say(door, ada, *texts)
    uber, ja, zh, plain, shout, ru = texts
    for asked, found in {
        "übergabe": [uber],
        "über": [shout, uber],
        "MÜLLER fertig": [uber],
        "トークン": [ja],
        "期限": [ja],
        "过期": [zh],
        "token": [shout, plain],
        "token expiry": [plain],
        '"token\'s expiry"': [plain],
        '"expiry token"': [],
        "100%": [uber],
        "0%f": [],
        "snake_case": [plain],
        "snakeXcase": [],
        "[draft]": [plain],
        "*why*?": [plain],
        "ü?": [],
        "достопримечательность": [ru],
        "ДОСТОпримечательности": [],
        "ПРИМЕЧАТЕЛЬНОСТЬ [Х]": [ru],
        "nowhere": [],
    }.items():
        assert await find(door, ada, asked) == found, asked


async def test_a_hit_tells_where_it_is_and_what_stands_around(door: Door) -> None:
    ada = await door.person("Ada")
    [message_id] = await say(door, ada, f"{'before ' * 40}needle\n\n{'after ' * 60}")
    page = await door.get("/api/search?q=NEEDLE", ada)
    assert (page["words"], page["next_before"]) == (["NEEDLE"], None)
    [hit] = page["items"]
    assert (hit["message_id"], hit["room_id"], hit["room_name"]) == (
        message_id,
        "web:general",
        "general",
    )
    assert hit["by"]["name"] == "Ada"
    assert hit["text"].startswith("…")
    assert hit["text"].endswith("…")
    assert "before needle after" in hit["text"]
    assert len(hit["text"]) < 260


async def test_only_what_one_may_read_is_found(door: Door) -> None:
    ada, bea = await door.person("Ada"), await door.person("Bea", "guest")
    root = await door.person("Root", "owner")
    await say(door, ada, "the secret plan", room={"id": "web:dm-ada-demo", "kind": "dm"})
    await door.moot.hear(spoken("the secret of the channel", room=Room("fake:D1", "bob", "dm")))
    assert await find(door, ada, "secret") == ["the secret plan"]
    assert await find(door, bea, "secret") == []
    for owner in (root, door.owner):  # as in the list of rooms
        assert await find(door, owner, "secret") == ["the secret of the channel"]
    await door.get("/api/search?q=secret", None, 401)


async def test_a_deleted_message_is_not_found_and_an_edited_one_by_its_text_now(door: Door) -> None:
    ada = await door.person("Ada")
    gone, new = await say(door, ada, "the old harbour", "the old lighthouse")
    path = "/api/rooms/web:general/messages"
    await door.send(f"{path}/{gone}", ada, {}, method="DELETE")
    await door.send(f"{path}/{new}", ada, {"content": "the new bridge"}, method="PUT")
    assert await find(door, ada, "old") == []
    assert await find(door, ada, "bridge") == ["the new bridge"]


async def test_pages_go_on_and_bad_questions_are_refused(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await door.person("Ada")
    await say(door, ada, *(f"word {n}" for n in range(5)), "filler")
    first = await door.get("/api/search?q=word&limit=2", ada)
    assert [one["text"] for one in first["items"]] == ["word 4", "word 3"]
    monkeypatch.setattr(searching, "STRETCH", 2)  # so many messages are looked at for each page
    found, before = [], first["next_before"]
    while before is not None:
        page = await door.get(f"/api/search?q=word&limit=2&before={before}", ada)
        found += [one["text"] for one in page["items"]]
        before = page["next_before"]
    assert found == ["word 2", "word 1", "word 0"]
    for bad in (
        "",
        "q=",
        "q=%20",
        f"q={'x' * 201}",
        "q=x&limit=0",
        "q=x&limit=101",
        "q=x&before=a",
    ):
        await door.get(f"/api/search?{bad}", ada, 400)


async def test_a_stretch_around_a_message_goes_on_both_ways(door: Door) -> None:
    ada = await door.person("Ada")
    ids = await say(door, ada, *map(str, range(9)))
    path = "/api/rooms/web:general/messages?limit=3"

    async def stretch(where: str) -> tuple[str, bool, bool]:
        page = await door.get(f"{path}&{where}", ada)
        return "".join(one["text"] for one in page["messages"]), page["more"], page["newer"]

    assert await stretch(f"around={ids[4]}") == ("345", True, True)
    assert await stretch(f"around={ids[0]}") == ("01", False, True)
    assert await stretch(f"around={ids[8]}") == ("78", True, False)
    assert await stretch(f"after={ids[4]}") == ("567", True, True)
    assert await stretch(f"after={ids[6]}") == ("78", True, False)
    assert await stretch("before=" + ids[3]) == ("012", False, False)
    await door.get(f"{path}&around=nothing", ada, 404)
    await door.get("/api/rooms/web:dm-bea-demo/messages?around=1", ada, 403)


async def unread(at: Door, who: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    rooms = (await at.get("/api/unread", who))["rooms"]
    return {one["room_id"]: (one["count"], one["mentions"]) for one in rooms}


async def test_how_far_somebody_has_read_follows_them(door: Door) -> None:
    ada, bea = await door.person("Ada"), await door.person("Bea")
    assert await unread(door, ada) == {}
    await say(door, bea, "hello @ada", "@adam, too", "a@ada.org", "and **@Ada**!")
    await say(door, bea, "for me", room={"id": "web:dm-bea-demo", "kind": "dm"})
    await door.moot.settle()
    await say(door, ada, "my own")
    assert await unread(door, ada) == {"web:general": (4, 2)}
    last = (await door.get("/api/rooms/web:general/messages", ada))["messages"][-2]["at"]
    heard: list[Any] = []
    async with (
        door.client.get("/api/events", headers=ada) as mine,
        door.client.get("/api/events", headers=bea) as theirs,
    ):
        await door.send("/api/rooms/web:general/read", ada, {"until": last}, method="PUT")
        await say(door, bea, "over")
        for stream in (mine, theirs):
            types: list[str] = []
            async with asyncio.timeout(20):
                while "message" not in types:
                    line = await stream.content.readline()
                    if line.startswith(b"data: {"):
                        types.append(json.loads(line[6:]).get("type", ""))
            heard.append([one for one in types if one == "read"])
    assert heard == [["read"], []], "told to nobody else"
    assert await unread(door, ada) == {"web:general": (1, 0)}
    earlier = (datetime.now(UTC) - timedelta(days=9)).isoformat()
    await door.send("/api/rooms/web:general/read", ada, {"until": earlier}, method="PUT")
    assert await unread(door, ada) == {"web:general": (1, 0)}, "it never goes back"
    later = (datetime.now(UTC) + timedelta(days=9)).isoformat()
    await door.send("/api/rooms/web:general/read", ada, {"until": later}, method="PUT")
    await say(door, bea, "news")
    assert (await unread(door, ada))["web:general"] == (1, 0), "nor ahead of what there is"


async def test_the_count_ends_at_a_hundred_and_new_people_begin_at_nothing(door: Door) -> None:
    ada, bea = await door.person("Ada"), await door.person("Bea")
    await asyncio.gather(*(say(door, bea, f"{n}") for n in range(105)))
    assert await unread(door, ada) == {"web:general": (100, 0)}
    assert await unread(door, await door.person("Carl")) == {}
    assert await unread(door, door.owner) == {}, "a program reads nothing"


async def test_what_one_may_not_read_is_not_marked(door: Door) -> None:
    ada = await door.person("Ada")
    body = {"until": datetime.now(UTC).isoformat()}
    await door.send("/api/rooms/web:dm-bea-demo/read", ada, body, 403, "PUT")
    await door.send("/api/rooms/nowhere:1/read", ada, body, 404, "PUT")
    for bad in ({}, {"until": 3}, {"until": "yesterday"}):
        await door.send("/api/rooms/web:general/read", ada, bad, 400, "PUT")
