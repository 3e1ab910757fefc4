"""Personas that were edited where the first leads are the second's, too, and it answers by them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.doubles.api_stage import KEY, BareAPI
from tests.doubles.credentials import program_at, served
from tests.doubles.service import Service
from tests.doubles.two import Two, logged, two
from tests.test_api_whole import get, say
from tests.test_commands import moot

FILES = "/api/personas/files"
BY = {"id": "web:ana", "name": "Ana"}


def persona(body: str) -> str:
    return f"---\nagent: anthropic\nmodel: claude-haiku-5-5\n---\n{body}\n"


def write(at: Service | Path, name: str, body: str) -> None:
    folder = at if isinstance(at, Path) else at.folder
    (folder / "personas").mkdir(exist_ok=True)
    (folder / "personas" / f"{name}.md").write_text(persona(body), encoding="utf-8")


def read(at: Service, name: str) -> str | None:
    file = at.folder / "personas" / f"{name}.md"
    return file.read_text(encoding="utf-8") if file.exists() else None


def aside(at: Service) -> dict[str, str]:
    """The texts that were kept beside files."""
    found = (at.folder / "personas").glob("*.kept-*")
    return {path.name.partition(".")[0]: path.read_text(encoding="utf-8") for path in found}


def agreed(at: Service) -> str:
    """On which forms this machine and the database agree."""
    file = at.folder / "data" / "personas.json"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def furnish(folder: Path) -> None:
    for name in ("claude", "cai", "eve", "kim"):
        write(folder, name, f"You are {name}.")


@asynccontextmanager
async def house(
    folder: Path, prepare: Callable[[Path], object] = furnish
) -> AsyncIterator[tuple[Two, BareAPI]]:
    async with BareAPI.open() as api:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        async with two(folder, "", prepare, **environment) as both:
            served(f"http://127.0.0.1:{both.port}/", both.second.folder)
            yield both, api


async def call(at: Service, method: str, path: str, body: Any, want: int = 200) -> Any:
    async with program_at(at.url) as client, client.request(method, path, json=body) as response:
        assert response.status == want, await response.text()
        return await response.json()


async def edit(at: Service, name: str, body: str) -> None:
    """Save it on the page."""
    base = (await get(at.url, f"{FILES}/{name}"))["base"]
    await call(at, "PUT", f"{FILES}/{name}", {"text": persona(body), "base": base, "by": BY})


async def until(true: Callable[[], object], within_s: float = 10) -> None:
    async with asyncio.timeout(within_s):
        while not true():
            await asyncio.sleep(0.02)


async def answered_by(at: Service, api: BareAPI, number: int, name: str) -> str:
    """Ask the persona; the system prompt that its agent was given."""
    api.when(f"word {number}", "Yes.")
    receipt = await say(at.url, number, f"@{name} word {number}")
    assert [reply["text"] for reply in receipt["replies"]] == ["Yes."]
    return str(api.requests[-1].body["system"][0]["text"])


async def test_what_is_edited_added_and_removed_is_so_where_the_second_leads(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as (both, api):
        first, second = both.first, both.second
        await until(lambda: agreed(first) == agreed(second))
        await edit(first, "claude", "You name the moon.")
        await call(first, "POST", FILES, {"name": "dan", "text": persona("Dan."), "by": BY}, 201)
        base = (await get(first.url, f"{FILES}/eve"))["base"]
        await call(first, "DELETE", f"{FILES}/eve", {"base": base, "by": BY})
        write(first, "cai", "By hand.")
        (first.folder / "personas" / "kim.md").unlink()
        await until(lambda: read(second, "claude") == persona("You name the moon."), 3)
        await until(lambda: read(second, "dan") == persona("Dan."), 3)
        await until(lambda: read(second, "cai") == persona("By hand."), 3)
        await until(lambda: read(second, "eve") is read(second, "kim") is None, 3)
        address = f"http://127.0.0.1:{both.port}/"
        shown = await get(address, f"{FILES}/claude")
        assert (shown["text"], shown["version"]["number"]) == (persona("You name the moon."), 2)
        await both.take_over()
        assert await answered_by(second, api, 1, "claude") == "You name the moon."
        assert await answered_by(second, api, 2, "cai") == "By hand."
        names = {one["name"] for one in (await get(second.url, "/api/personas"))["personas"]}
        assert {"claude", "cai", "dan"} <= names
        assert not names & {"eve", "kim"}
        history = (await get(second.url, f"{FILES}/claude/history"))["versions"]
        assert [(one["number"], one["why"]) for one in history] == [(2, "page"), (1, "file")]
        await edit(second, "claude", "You name the sun.")
        await first.begin()
        await until(lambda: read(first, "claude") == persona("You name the sun."))
        assert read(first, "eve") is read(first, "kim") is None
        for at in (first, second):
            assert aside(at) == {}
            assert at.leaks("the moon", "the sun", "By hand") == []
            for word in ("Traceback", "edited_here", "not_followed", "kept_aside"):
                assert word not in at.log()


async def test_what_was_edited_beside_the_second_waits_until_it_leads_or_is_kept_aside(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as (both, api):
        first, second = both.first, both.second
        await until(lambda: agreed(first) == agreed(second))
        write(second, "claude", "Beside the second.")
        write(second, "cai", "Beside the second, too.")
        await logged(second, "personas.edited_here")
        told = await asyncio.to_thread(moot, "doctor", "--offline", cwd=second.folder)
        assert "claude.md is not as it is where Moot leads" in told.stdout
        assert read(first, "claude") == persona("You are claude.")
        await edit(first, "cai", "On the page of the first.")
        await until(lambda: read(second, "cai") == persona("On the page of the first."))
        assert aside(second) == {"cai": persona("Beside the second, too.")}
        told = await asyncio.to_thread(moot, "doctor", "--offline", cwd=second.folder)
        assert "keeps an edit that did not come into use" in told.stdout
        shown = await get(f"http://127.0.0.1:{both.port}/", f"{FILES}/claude")
        assert shown["text"] == persona("Beside the second.")
        assert second.log().count('"personas.edited_here"') == 2
        assert second.log().count('"personas.kept_aside"') == 1
        await both.take_over()
        assert await answered_by(second, api, 1, "claude") == "Beside the second."
        assert await answered_by(second, api, 2, "cai") == "On the page of the first."
        await first.begin()
        await until(lambda: read(first, "claude") == persona("Beside the second."))
        assert aside(first) == {}
        assert second.leaks("the second", "of the first") == []


async def test_the_databases_form_holds_at_a_machine_that_is_new(tmp_path: Path) -> None:
    def differing(folder: Path) -> None:
        furnish(folder)
        if folder.name == "second":
            write(folder, "claude", "Of another machine.")
            write(folder, "fay", "There alone.")
            (folder / "personas" / "eve.md").unlink()

    async with house(tmp_path, differing) as (both, api):
        second = both.second
        await until(lambda: read(second, "claude") == persona("You are claude."))
        await until(lambda: read(second, "eve") == persona("You are eve."))
        assert aside(second) == {"claude": persona("Of another machine.")}
        await both.take_over()
        assert await answered_by(second, api, 1, "fay") == "There alone."


async def test_machines_that_share_one_folder_get_along(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    furnish(shared)

    def linked(folder: Path) -> None:
        (folder / "personas").symlink_to(shared / "personas")

    async with house(tmp_path, linked) as (both, api):
        for number in range(5):
            await edit(both.first, "claude", f"Edit {number}.")
            write(shared, "cai", f"By hand {number}.")
            await asyncio.sleep(0.3)
        await until(lambda: agreed(both.first) == agreed(both.second))
        await both.take_over()
        assert await answered_by(both.second, api, 1, "claude") == "Edit 4."
        assert await answered_by(both.second, api, 2, "cai") == "By hand 4."
        assert aside(both.second) == {}
        for word in ("edited_here", "not_followed", "kept_aside", "Traceback"):
            assert word not in both.first.log() + both.second.log()


async def test_a_folder_that_can_not_be_written_is_told_of_once(tmp_path: Path) -> None:
    def without(folder: Path) -> None:
        if folder.name == "first":
            furnish(folder)
        else:
            (folder / "personas").write_text("no folder")

    async with house(tmp_path, without) as (both, _):
        first, second = both.first, both.second
        (second.folder / "data" / "personas.json").write_text("{}")
        await logged(second, "personas.not_followed")
        await edit(first, "claude", "Of the first.")
        await asyncio.sleep(2)
        assert second.log().count('"personas.not_followed"') == 1
        await both.take_over()
        [reply] = (await say(second.url, 1, "@demo echo word 1"))["replies"]
        assert reply["text"] == "word 1"
        await first.begin()
        await logged(first, "personas.followed")
        assert read(first, "claude") == persona("Of the first.")
        assert read(first, "demo") is not None
        for at in (first, second):
            assert "Traceback" not in at.log()
