"""The routes of a room's memory: what goes in, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import aiohttp
import pytest

from memory.browse.pages import END
from memory.browse.view_rows import FactRow, ObservationFilter, Page
from tests.doubles.house import FakeHouse
from tests.doubles.memories import EMPTY
from tests.gateway.conftest import get

Client = aiohttp.ClientSession
PATH = "/api/rooms/web%3Ageneral/memory"
FACT = FactRow(7, "room:web:general", "fact", "a", None, None, None, False, datetime.now(UTC))


@pytest.fixture(autouse=True)
def _general(house: FakeHouse) -> None:
    house.memory.rooms["web:general"] = replace(EMPTY, facts=Page((FACT,), 7))


async def test_the_filters_reach_the_memory(client: Client, house: FakeHouse) -> None:
    await get(client, f"{PATH}/facts")
    await get(client, f"{PATH}/facts?before=12&replaced=true")
    await get(client, f"{PATH}/observations?text=&concept=%20")
    await get(client, f"{PATH}/observations?text=a%20b&concept=c&file=d.py&before=3")
    await get(client, f"{PATH}/search?q=%20why%20")
    assert house.memory.asked == [
        ("facts", "web:general", END, False),
        ("facts", "web:general", 12, True),
        ("observations", "web:general", None, END),
        ("observations", "web:general", ObservationFilter("a b", "c", "d.py"), 3),
        ("search", "web:general", "why"),
    ]


async def test_a_scope_is_told_once_and_not_by_every_row(client: Client) -> None:
    shown = await get(client, PATH)
    assert set(shown["facts"]["items"][0]) == {
        "seq", "kind", "text", "person", "person_name", "origin", "shared", "said_at",
        "replaced_by",
    }  # fmt: skip
    assert shown["facts"]["next_before"] == 7


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("facts?before=-1", "before"),
        ("facts?before=x", "before"),
        ("facts?before=", "before"),
        ("facts?before=٣", "before"),
        ("facts?before=9999999999999999999", "before"),
        ("facts?replaced=1", "replaced"),
        ("observations?before=1.5", "before"),
        ("observations?text=" + "x" * 1001, "text"),
        ("search", "q"),
        ("search?q=%20", "q"),
        ("search?q=" + "x" * 1001, "q"),
    ],
)
async def test_a_wrong_query_names_its_field(client: Client, query: str, field: str) -> None:
    refusal = await get(client, f"{PATH}/{query}", 400)
    assert refusal["error"]["field"] == field


@pytest.mark.parametrize(
    "path",
    [
        "/api/rooms/web:none/memory",
        "/api/rooms/web:none/memory/facts",
        "/api/rooms/web:none/memory/observations",
        "/api/rooms/web:none/memory/search?q=a",
        "/api/rooms/web:general/memory/observations/none",
        "/api/rooms/web:general/memory/none",
    ],
)
async def test_what_is_not_there_is_a_404(client: Client, path: str) -> None:
    assert (await get(client, path, 404))["error"]["message"]


async def test_nothing_can_be_deleted_by_the_api(client: Client) -> None:
    for path in (PATH, f"{PATH}/facts", f"{PATH}/observations/x"):
        async with client.delete(path) as response:
            assert response.status == 405
