"""The gateway that stands by shows what is there, to whom it may, and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from playwright.async_api import Page, async_playwright, expect

from tests.doubles.browser import CHROMIUM_ARGS, chromium
from tests.doubles.two import Two, two
from tests.test_commands import moot
from tests.test_people_whole import Headers, Visitor, said
from tests.test_takeover_state_whole import command

CONFIG = """
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
ROOM = "/api/rooms/web:general"
READ = (
    *("/", "/api/start", "/api/me", "/api/me/sessions", "/api/schema", "/api/commands"),
    *("/api/rooms", f"{ROOM}/messages", "/api/search?q=word", "/api/unread", "/api/people"),
    *("/api/personas", f"{ROOM}/memory", f"{ROOM}/memory/facts", f"{ROOM}/memory/observations"),
    f"{ROOM}/memory/search?q=word",
)
"""For whoever signed in."""
OWNERS = (
    *("/api/audit", "/api/audit/verify", "/api/usage", "/api/access", "/api/settings"),
    *("/api/admin/rooms", "/api/admin/turns", "/api/admin/statistics", "/api/schedules"),
    *("/api/page/users", "/api/page/sessions", "/api/page/tokens"),
    *("/api/personas/schema", "/api/personas/files", "/api/personas/files/demo"),
    "/api/personas/files/demo/history",
)
REFUSED = (
    *(("GET", "/api/events"), ("GET", "/api/sessions"), ("GET", "/api/admin/overview")),
    *(("GET", "/metrics"), ("POST", "/api/submit"), ("POST", "/api/sign-in")),
    *(("PUT", f"{ROOM}/read"), ("DELETE", f"{ROOM}/messages/1"), ("PATCH", "/api/nothing")),
    ("GET", "/sign-in/oidc?code=1"),
)


@dataclass
class House:
    """Visitors of both, and the same sessions as each is shown them."""

    two: Two
    first: Visitor
    second: Visitor

    def there(self, headers: Headers) -> Headers:
        """The same cookie, by the name that it has at the second."""
        return {"Cookie": f"moot-{self.two.port}={headers['Cookie'].partition('=')[2]}"}

    async def read(self, path: str, by: Headers, want: int = 200) -> Any:
        """What the second tells."""
        return await self.second.send("GET", path, self.there(by), want=want)

    async def refused(self, path: str, by: Headers, want: int) -> None:
        """Somebody may not read there any more, a second after the first was told so."""
        await asyncio.sleep(1)
        await self.read(path, by, want)


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    async with two(folder, CONFIG) as both:
        address, jar = f"http://127.0.0.1:{both.port}", aiohttp.DummyCookieJar()
        async with (
            aiohttp.ClientSession(both.first.url, cookie_jar=jar) as client,
            aiohttp.ClientSession(address, cookie_jar=jar) as other,
        ):
            yield House(both, Visitor(both.first, client), Visitor(both.second, other))


async def test_it_shows_what_is_there_and_refuses_whatever_changes_something(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as here:
        first, second = here.first, here.second
        andi, mia = await first.person("Andi", "owner"), await first.person("Mia", "member")
        asked = said("@demo echo word 1", "web:general")
        done = await first.send("POST", "/api/submit", mia, asked)
        assert (await here.read("/api/me", mia))["id"] == "web:mia"
        told = await here.read(f"{ROOM}/messages", mia)
        assert [one["text"] for one in told["messages"]] == ["@demo echo word 1", "word 1"]
        turn = await here.read(f"/api/turns/{done['turn_ids'][0]}", mia)
        assert turn["state"] == "posted", turn
        found = await here.read("/api/search?q=word", mia)
        assert len(found["items"]) == 2
        for path in (*READ, *OWNERS):
            async with second.client.get(path, headers=here.there(andi)) as answer:
                assert answer.status == 200, (path, await answer.text())
            owners = path in OWNERS
            async with second.client.get(path, headers=here.there(mia)) as answer:
                assert answer.status == (403 if owners else 200), (path, await answer.text())
            async with second.client.get(path) as answer:
                assert answer.status == 401, (path, await answer.text())
        for path in ("/sign-in", "/api/sign-in"):
            async with second.client.get(path) as answer:
                assert answer.status == 200, path
        for method, path in REFUSED:
            german = {**here.there(andi), "Accept-Language": "de"}
            async with second.client.request(method, path, headers=german) as answer:
                assert answer.status == 503, (path, await answer.text())
                assert answer.headers["Retry-After"] == "5"
                assert "steht bereit und ändert nichts" in await answer.text()
        log = here.two.second.log()
        for word in ("Traceback", "store.refused", "late_write_failed", "request.failed"):
            assert word not in log


async def test_who_lost_something_at_the_leader_has_lost_it_here_within_a_second(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as here:
        first = here.first
        andi, mia = await first.person("Andi", "owner"), await first.person("Mia", "owner")
        dm = said("hi", "web:dm-andi-demo")
        await first.send("POST", "/api/submit", andi, dm)
        await here.read("/api/audit", mia)
        await here.read("/api/rooms/web:dm-andi-demo/messages", andi)
        await here.read("/api/rooms/web:dm-andi-demo/messages", mia, 403)
        token = await command(here.two.first, "token", "--name", "ci")
        bearer = {"Authorization": f"Bearer {token}"}
        await here.second.send("GET", "/api/audit", bearer)

        role = {"person_id": "web:mia", "role": "guest"}
        await first.send("POST", "/api/access/grants", andi, role, 201)
        await here.refused("/api/audit", mia, 403)
        await here.read("/api/me", mia)

        await first.send("DELETE", "/api/page/tokens/ci", andi, {})
        await first.send("DELETE", "/api/page/users/web:mia", andi, {})
        await here.refused("/api/me", mia, 401)
        await here.second.send("GET", "/api/audit", bearer, want=401)

        await first.send("POST", "/api/sign-out", andi, {})
        await here.refused("/api/me", andi, 401)


@asynccontextmanager
async def page_at(port: int, cookie: str) -> AsyncIterator[Page]:
    """Somebody's page in a German browser. cookie: its session's name and value."""
    name, _, value = cookie.partition("=")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        context = await browser.new_context(locale="de-DE")
        await context.add_cookies(
            [{"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}]
        )
        page = await context.new_page()
        page.set_default_timeout(20_000)
        await page.goto(f"http://127.0.0.1:{port}/")
        yield page


async def test_an_open_page_says_so_and_goes_on_by_itself_once_it_leads(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        andi = await here.first.person("Andi", "owner")
        await here.first.send("POST", "/api/submit", andi, said("@demo echo 1", "web:general"))
        async with page_at(here.two.port, here.there(andi)["Cookie"]) as page:
            banner = page.locator("#connection")
            await expect(banner).to_contain_text("Dieses Moot steht bereit")
            await expect(page.locator("article.bot .text")).to_have_text(["1"])
            await here.first.send("POST", "/api/submit", andi, said("@demo echo 2", "web:general"))
            await expect(page.locator("article.bot .text")).to_have_text(["1", "2"], timeout=20_000)
            await page.locator("#text").fill("@demo echo 3")
            await page.keyboard.press("Enter")
            unsent = page.locator("article", has_text="echo 3")
            await expect(unsent).to_contain_text("steht bereit und ändert nichts")
            await here.two.take_over()
            await expect(banner).to_be_hidden(timeout=20_000)
            await expect(page.locator("article.bot .text")).to_have_text(["1", "2", "3"])
            await expect(unsent).not_to_contain_text("steht bereit und ändert nichts")


async def test_it_goes_on_with_everything_once_it_leads(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        andi = await here.first.person("Andi", "owner")
        await here.first.send("POST", "/api/submit", andi, said("@demo echo 1", "web:general"))
        assert len((await here.read(f"{ROOM}/messages", andi))["messages"]) == 2
        await here.two.take_over()
        asked = said("@demo echo 2", "web:general")
        await here.second.send("POST", "/api/submit", here.there(andi), asked)
        told = await here.read(f"{ROOM}/messages", andi)
        assert [one["text"] for one in told["messages"]][-1] == "2"
        for log in (here.two.first.log(), here.two.second.log()):
            assert "Traceback" not in log


async def test_the_command_line_beside_it_is_told_who_leads_and_opens_the_page_once_it_does(
    tmp_path: Path,
) -> None:
    async with two(tmp_path, CONFIG) as both:
        leader = f":{both.first.pid}:"
        for words in (("open", "--no-browser"), ("ask", "@demo echo 1"), ("invite", "Ana")):
            told = await asyncio.to_thread(moot, *words, cwd=both.second.folder)
            assert told.returncode == 2
            assert "this Moot stands by and changes nothing: another one leads" in told.stderr
            assert leader in told.stderr
        assert "nobody is signed in" in await command(both.second, "sessions", "list")
        await both.take_over()
        link = (await command(both.second, "open", "--no-browser")).rpartition(" ")[2]
        code = {"code": link.partition("#")[2], "name": "Andi"}
        async with (
            aiohttp.ClientSession(both.second.url) as client,
            client.post("/api/sign-in", json=code) as response,
        ):
            assert response.status == 200, await response.text()
        assert "Andi" in await command(both.second, "sessions", "list")
