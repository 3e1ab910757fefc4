"""A room's memory over a real gateway: whose scopes are read for which room."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from contract.chat import Inbound, IngestMetadata, Room
from gateway.core.events import AppEvent, MemoryChanged
from gateway.web.memory.room_memory import RoomMemoryService, scopes_of
from gateway.web.page import PageSettings, open_page
from memory.browse.view_rows import ObservationFilter
from memory.recall.facts import replace_facts
from memory.recall.index import Hit
from memory.scopes import ScopeError
from tests.doubles.credentials import bearer, cookie_header, cookie_of
from tests.doubles.index import WordIndex
from tests.doubles.remembered import START, Shelf, fill
from tests.doubles.running import Opened, gateway, until
from tests.gateway.conftest import get

SCOPES = {
    "room:web:general": "general",
    "room:web:other": "other",
    "room:slack:C1": "slack",
    "gdm:slack:G1": "group",
    "dm:web:budi:demo": "budi-demo",
    "dm:web:budi:other": "budi-other",
    "dm:web:budi2:demo": "budi2-demo",
    "dm:fake:ash:demo": "ash-demo",
    "dm:fake:budi:demo": "fake-budi",
    "profile:web:budi": "profile-budi",
    "profile:fake:ash": "profile-ash",
    "project:saga-ai": "project",
    "project:other": "project-other",
}
SEEN = {
    "web:general": {"general", "project"},
    "web:other": {"other"},
    "slack:C1": {"slack"},
    "slack:G1": {"group"},
    "web:dm-budi-demo": {"budi-demo"},
    "web:dm-budi-other": {"budi-other"},
    "fake:D1": {"ash-demo"},
    "fake:D2": set(),
}


@pytest.fixture
async def moot(tmp_path: Path) -> AsyncIterator[Opened]:
    """A gateway that remembers something in every scope; its index holds all of it."""
    async with gateway(tmp_path, index=WordIndex(hostile=True)) as opened:
        for room in (
            Room("web:general", "general", project="saga-ai"),
            Room("web:other", "other"),
            Room("slack:C1", "design"),
            Room("slack:G1", "group", "gdm", "saga-ai"),
            Room("web:dm-budi-demo", "demo", "dm", "saga-ai"),
            Room("web:dm-budi-other", "other", "dm"),
            Room("fake:D2", "silent", "dm", "saga-ai"),
        ):
            await opened.house.transcript.open_room(room, START)
        await say(opened, Room("fake:D1", "Ash", "dm"), "fake:ash")
        await opened.house.memories.store.write(
            fill(*((scope, f" <{mark}>") for scope, mark in SCOPES.items()))
        )
        recall = opened.house.memories.recall
        assert recall is not None
        await recall.index_pending()
        yield opened


@pytest.fixture
async def url(moot: Opened, tmp_path: Path) -> AsyncIterator[str]:
    async with open_page(moot.house.services, PageSettings(tmp_path / "files")) as address:
        yield address


@pytest.fixture
async def client(url: str, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(url, headers=bearer(tmp_path)) as session:
        yield session


async def say(moot: Opened, room: Room, sender_id: str, text: str = "hi") -> None:
    meta = IngestMetadata(
        source=room.source, sender_id=sender_id, sender_display_name="x", sender_type="human"
    )
    await moot.hear(Inbound(text, meta, room, f"m-{room.id}-{text}", START))
    await moot.settle()


def marks(shown: object) -> set[str]:
    """Whose texts are in it."""
    return {mark for mark in SCOPES.values() if f"<{mark}>" in str(shown)}


@pytest.mark.parametrize("room_id", SEEN)
async def test_a_room_shows_its_own_scopes_in_every_answer(
    client: aiohttp.ClientSession, url: str, moot: Opened, room_id: str
) -> None:
    if room_id.startswith("web:dm-"):  # for its person's eyes alone
        del client.headers["Authorization"]
        cookie = await cookie_of(moot.house.visitors, "Budi", "member")
        client.headers.update(cookie_header(url, cookie))
    path = f"/api/rooms/{room_id}/memory"
    assert marks(overview := await get(client, path)) == SEEN[room_id]
    for section in ("landmarks", "episodes", "insights", "sessions"):
        assert marks(overview[section]) == SEEN[room_id], section
    assert marks(await get(client, f"{path}/facts?replaced=true")) == SEEN[room_id]
    titles = await get(client, f"{path}/observations?text=token")
    assert marks(titles) == SEEN[room_id]
    found = await get(client, f"{path}/search?q=token")
    assert marks(found["facts"]) == marks(found["observations"]) == SEEN[room_id]
    every = await moot.house.memories.store.read(
        lambda c: [row[0] for row in c.exec_driver_sql("select id from observations")]
    )
    told = {title["id"] for title in titles["items"]}
    for observation_id in every:
        status = 200 if observation_id in told else 404
        shown = await get(client, f"{path}/observations/{observation_id}", status)
        assert marks(shown) <= SEEN[room_id]


def test_a_direct_messages_panel_never_shows_the_room() -> None:
    direct = Room("web:dm-budi-demo", "demo", "dm", "saga-ai")
    assert scopes_of(direct) == {"dm:web:budi:demo"}
    assert scopes_of(Room("web:dm-budi-demo", "demo", "room", "x")) == {"dm:web:budi:demo"}
    with pytest.raises(ScopeError):
        scopes_of(Room("web:dm-budi-a b", "x", "dm"))


async def test_a_room_of_unknown_kind_shows_what_was_said_there_alone(moot: Opened) -> None:
    room = Room("fake:X1", "odd", "huddle")
    await say(moot, room, "fake:ash")
    memory = moot.house.services.memory
    overview = await memory.overview("fake:X1")
    assert overview is not None
    assert overview.scopes == ("dm:fake:ash:demo:fake:X1:8:",)


async def test_a_search_without_an_index_goes_by_the_words(moot: Opened) -> None:
    house = moot.house
    plain = RoomMemoryService(house.memories.store, house.transcript, None)
    found = await plain.search("web:other", "MINUTES tokens")
    assert found is not None
    assert (found.by, [fact.scope for fact in found.facts]) == ("words", ["room:web:other"])
    nothing = await plain.search("web:other", "tokens zebra")
    assert nothing is not None
    assert nothing.facts == ()
    assert await plain.search("web:none", "tokens") is None


class Broken(WordIndex):
    async def search(self, *_given: object) -> list[Hit]:
        raise ValueError("secret")


async def test_a_search_with_a_broken_index_goes_by_the_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(tmp_path, index=Broken()) as moot:
        await moot.house.services.chat.open_lobby()
        await moot.house.memories.store.write(fill(("room:web:general", "")))
        found = await moot.house.services.memory.search("web:general", "tokens")
    assert found is not None
    assert (found.by, len(found.facts)) == ("words", 1)
    assert "memory.not_searched error=ValueError" in caplog.text
    assert "secret" not in "".join(r.getMessage() for r in caplog.records)


async def test_pages_of_facts_and_replaced_ones(
    client: aiohttp.ClientSession, moot: Opened
) -> None:
    def work(connection: Any) -> None:
        shelf = Shelf(connection, "room:web:other")
        old = shelf.fact("15 minutes")
        for n in range(40):
            newest = shelf.fact(f"f{n}")
        replace_facts(connection, [old.id], newest.id)

    await moot.house.memories.store.write(work)
    path = "/api/rooms/web:other/memory/facts"
    first = await get(client, path)
    second = await get(client, f"{path}?before={first['next_before']}")
    assert (len(first["items"]), len(second["items"]), second["next_before"]) == (30, 11, None)
    replaced = await get(client, f"{path}?replaced=true&before={first['next_before']}")
    [old] = [fact for fact in replaced["items"] if fact["replaced_by"] is not None]
    assert (old["text"], old["replaced_by"]) == ("15 minutes", first["items"][0]["seq"])


async def test_an_answered_turn_tells_that_the_memory_changed(moot: Opened) -> None:
    events: list[AppEvent] = []
    moot.house.bus.listeners.add(events.append)
    await say(moot, Room("fake:C9", "nine"), "fake:ash", "@demo hi")
    await until(lambda: not moot.house.memories.layers.learning())
    assert [event.room_id for event in events if isinstance(event, MemoryChanged)] == ["fake:C9"]


async def test_observations_are_filtered_by_concept_and_file(moot: Opened) -> None:
    memory = moot.house.services.memory
    by_file = await memory.observations(
        "web:other", ObservationFilter(file="auth.py"), before=2**62
    )
    nothing = await memory.observations("web:other", ObservationFilter(concept="how"), before=2**62)
    assert by_file is not None
    assert nothing is not None
    assert (len(by_file.items), len(nothing.items)) == (1, 0)
