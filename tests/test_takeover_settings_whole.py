"""Roles that were changed on the page where the first leads hold at the second, too."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import Any

from tests.doubles.credentials import program_at, served
from tests.doubles.service import Service
from tests.doubles.two import Two, two
from tests.test_api_whole import get

ACCESS = """
[access] # who may ask
people = ["fake:ann", "fake:ben"]
[[access.grants]]
role = "member"
people = ["fake:cay"]
[access.personas.demo]
invoke = "member"
"""
AT = "/api/settings"
BY = {"id": "web:ana", "name": "Ana"}


async def change(at: Service, **values: object) -> None:
    """Save other roles on its page."""
    base = (await get(at.url, AT))["base"]
    body = {"change": {"access": values}, "base": base, "by": BY}
    async with program_at(at.url) as client, client.put(AT, json=body) as response:
        assert response.status == 200, await response.text()


def written(at: Service) -> Any:
    """[access] in its file."""
    return tomllib.loads((at.folder / "moot.toml").read_text(encoding="utf-8"))["access"]


async def roles_of(url: str, person: str) -> list[str]:
    """The roles that somebody has, as the page tells."""
    told = await get(url, "/api/access")
    return [one["role"] for one in told["configured"] if person in one["people"]]


def standby(both: Two) -> str:
    """The page of the one that stands by."""
    address = f"http://127.0.0.1:{both.port}/"
    served(address, both.second.folder)
    return address


async def test_who_was_taken_away_on_the_page_is_refused_by_the_one_that_takes_over(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, ACCESS) as both:
        first, second = both.first, both.second
        page = standby(both)
        assert await roles_of(page, "fake:ben")
        await change(first, people=["fake:ann"], owners=["fake:ola"])
        await asyncio.sleep(1)
        assert await roles_of(page, "fake:ben") == []
        assert await roles_of(page, "fake:ola") == ["owner"]
        there = written(second)
        assert (there["people"], there["owners"]) == (["fake:ann"], ["fake:ola"])
        assert there["grants"] == [{"role": "member", "people": ["fake:cay"]}]
        assert there["personas"] == {"demo": {"invoke": "member"}}
        text = (second.folder / "moot.toml").read_text(encoding="utf-8")
        assert "[access] # who may ask" in text
        assert "fake:ben" in (second.folder / "moot.toml.bak").read_text(encoding="utf-8")
        await both.take_over()
        assert await roles_of(second.url, "fake:ben") == []
        await change(second, owners=["fake:ola", "fake:pia"])
        await first.begin()
        await second.kill()
        await first.serving()
        assert await roles_of(first.url, "fake:pia") == ["owner"]
        assert written(first)["owners"] == ["fake:ola", "fake:pia"]
        for at in (first, second):
            assert "Traceback" not in at.log()


async def test_what_was_edited_by_hand_counts_from_when_that_machine_leads(tmp_path: Path) -> None:
    async with two(tmp_path, ACCESS) as both:
        first, second = both.first, both.second
        page = standby(both)
        assert await roles_of(page, "fake:ben")  # it has looked
        file = second.folder / "moot.toml"
        file.write_text(file.read_text().replace('"fake:ben"', '"fake:bob"'), encoding="utf-8")
        await asyncio.sleep(1)
        assert await roles_of(page, "fake:bob") == []
        assert "fake:bob" not in str(written(first))
        await both.take_over()
        assert await roles_of(second.url, "fake:bob")
        assert await roles_of(second.url, "fake:ben") == []
        await first.begin()
        await second.kill()
        await first.serving()
        assert written(first)["people"] == ["fake:ann", "fake:bob"]
