"""People of the page from outside: names that look alike, roles that end, what is one person's."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.doubles.inbox import until
from tests.doubles.service import Service, service
from tests.test_signin_whole import printed

CONFIG = """\
[gateway]
listen = "127.0.0.1:0"
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
Headers = Mapping[str, str]


class Visitor:
    """Calls the API of a Moot that runs, as whoever."""

    def __init__(self, at: Service, client: aiohttp.ClientSession) -> None:
        self.at = at
        self.client = client

    async def send(
        self, method: str, path: str, by: Headers, body: Any = None, want: int = 200
    ) -> Any:
        async with self.client.request(method, path, json=body, headers=by) as response:
            text = await response.text()
            assert response.status == want, (response.status, text)
            return json.loads(text)

    async def invited(
        self, name: str, role: str | None = None, by: Headers | None = None, want: int = 201
    ) -> Any:
        body = {"name": name, "role": role}
        by = by or self.at.headers
        return await self.send("POST", "/api/page/invitations", by, body, want)

    async def enter(self, invitation: Any) -> Headers:
        code = {"code": invitation["url"].partition("#")[2]}
        async with self.client.post("/api/sign-in", json=code) as response:
            assert response.status == 200, await response.text()
            return {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}

    async def person(self, name: str, role: str) -> Headers:
        return await self.enter(await self.invited(name, role))


@asynccontextmanager
async def visited(folder: Path, config: str = CONFIG) -> AsyncIterator[Visitor]:
    async with (
        service(folder, config) as at,
        aiohttp.ClientSession(at.url, cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        yield Visitor(at, client)


def said(text: str, room: str, **more: Any) -> dict[str, Any]:
    return {"content": text, "room": room, "wait": 30, **more}


async def test_nobody_gets_a_name_that_reads_like_somebody_elses(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        await page.person("Andi", "owner")
        for name in ("Аndi", "Andı", "Andі", "An\u200cdi", "A n d i"):
            told = await page.invited(name, want=400)
            assert "looks like Andi's" in told["error"]["message"], name
        for name in ("An\u200bdi", "Andi\u2060", "\u202eidnA", "And\u00adi"):
            told = await page.invited(name, want=400)
            assert "nobody sees" in told["error"]["message"], name
        for name in ("Moot", "Mооt", "everyone", "The command line", "the token script"):
            told = await page.invited(name, want=400)
            assert "taken for Moot" in told["error"]["message"], name
        await page.invited("Budi")
        assert (await page.invited("Вudi", want=400))["error"]["field"] == "name"
        assert (await page.invited("ＡＮＤＩ"))["person_id"] == "web:andi"  # that is Andi
        assert (await page.invited("José"))["person_id"] == "web:josé"


async def test_an_invited_member_has_a_role_of_their_own_where_rooms_are_open(
    tmp_path: Path,
) -> None:
    async with visited(tmp_path, f'{CONFIG}[access]\nrooms = "open"\n') as page:
        mia = await page.person("Mia", "member")
        body = said("echo it is me", "web:dm-mia-demo")
        [reply] = (await page.send("POST", "/api/submit", mia, body))["replies"]
        assert reply["text"] == "it is me"


async def test_a_message_neither_renames_a_room_nor_makes_one(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        gus = await page.person("Gus", "guest")
        room = {"id": "web:general", "name": "the administrators", "project": "theirs"}
        await page.send("POST", "/api/submit", gus, {"content": "hi", "room": room})
        for room_id in ("web:DM-andi-demo", "web:page", "web:x/../y"):
            told = await page.send("POST", "/api/submit", gus, said("hi", room_id), 404)
            assert told["error"]["message"] == "there is no such room"
        rooms = (await page.send("GET", "/api/rooms", page.at.headers))["rooms"]
        assert [(one["name"], one["project"]) for one in rooms] == [("general", None)]


async def test_a_program_reads_no_direct_message_of_a_name_that_was_typed_before(
    tmp_path: Path,
) -> None:
    async with visited(tmp_path) as page:
        program = page.at.headers
        meta = {
            "source": "web",
            "sender_id": "web:zoe",
            "sender_display_name": "Zoe",
            "sender_type": "human",
        }
        body = said("echo a secret of mine", "web:dm-zoe-demo", metadata=meta)
        look = {"name": "demo", "message": "what did I say?", "by": "web:zoe"}
        await page.send("POST", "/api/submit", program, body)
        await page.send("POST", "/api/submit", program, body)  # the program's own conversation
        await page.send("POST", "/api/personas/preview", program, look)
        await page.at.stop()
        with closing(sqlite3.connect(tmp_path / "data" / "moot.db")) as database:
            database.execute("UPDATE messages SET meta = json_remove(meta, '$.through')")
            database.commit()  # as before there were accounts
        await page.at.start()
        async with aiohttp.ClientSession(page.at.url) as client:
            later = Visitor(page.at, client)
            for path, sent in (("/api/submit", body), ("/api/personas/preview", look)):
                told = await later.send("POST", path, page.at.headers, sent, 403)
                assert "somebody's direct message" in told["error"]["message"]


async def test_a_closed_owner_has_no_invitation_left_to_come_back_by(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        ash, eve = await page.person("Ash", "owner"), await page.person("Eve", "owner")
        door = await page.invited("Puppet", "owner", eve)
        await page.send("DELETE", "/api/page/users/web:eve", ash)
        code = {"code": door["url"].partition("#")[2]}
        await page.send("POST", "/api/sign-in", {}, code, 401)
        acts = (await page.send("GET", "/api/audit?act=invite", ash))["items"]
        told = (acts[0]["by"]["id"], acts[0]["detail"]["person"], acts[0]["detail"]["withdrawn"])
        assert told == ("web:ash", "web:puppet", "yes")


async def demoted(page: Visitor, person_id: str) -> None:
    """By an owner's hand, through the API."""
    grants = (await page.send("GET", "/api/access", page.at.headers))["grants"]
    [seq] = [one["seq"] for one in grants if one["person_id"] == person_id]
    await page.send("DELETE", f"/api/access/grants/{seq}", page.at.headers)


async def ruled_out(page: Visitor, person_id: str) -> None:
    """By a role in the chat that takes the place of the one before."""
    ash = await page.person("Ash", "owner")
    body = {"content": f"!role {person_id} member everywhere", "room": "web:general", "wait": 30}
    await page.send("POST", "/api/submit", ash, body)


@pytest.mark.parametrize("ends", [demoted, ruled_out])
async def test_who_is_no_owner_any_more_lets_nobody_in_by_an_older_invitation(
    tmp_path: Path, ends: Callable[[Visitor, str], Awaitable[None]]
) -> None:
    async with visited(tmp_path) as page:
        eve, program = await page.person("Eve", "owner"), page.at.headers
        door = await page.invited("Puppet", "owner", eve)
        shown = (await page.send("GET", "/api/page/users", program))["invitations"]
        assert [(one["person_name"], one["by_name"]) for one in shown] == [("Puppet", "Eve")]
        await ends(page, "web:eve")
        code = {"code": door["url"].partition("#")[2]}
        told = await page.send("POST", "/api/sign-in", {}, code, 401)
        assert "who made it is no owner any more" in told["error"]["message"]
        assert (await page.send("GET", "/api/page/users", program))["invitations"] == []
        await page.at.stop()
        await page.at.start()
        async with aiohttp.ClientSession(page.at.url) as client:
            await Visitor(page.at, client).send("POST", "/api/sign-in", {}, code, 401)


async def test_what_a_token_that_was_revoked_invited_comes_to_nothing(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        token = await printed(page.at, "token", "--name", "ci")
        by = {"Authorization": f"Bearer {token}"}
        door = await page.invited("Puppet", "owner", by)
        link = await page.send("POST", "/api/page/links", by, {}, 201)
        await printed(page.at, "token", "revoke", "ci")
        await printed(page.at, "token", "--name", "ci")  # another token of the same name
        for made in (door, link):
            code = {"code": made["url"].partition("#")[2], "name": "Puppet"}
            await page.send("POST", "/api/sign-in", {}, code, 401)


async def test_a_link_makes_nobody_somebody_else_without_asking(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        mia, gus = await page.person("Mia", "member"), await page.invited("Gus", "guest")
        code = {"code": gus["url"].partition("#")[2]}
        for asked in ("GET", "HEAD", "GET"):  # a preview of the link, whoever is signed in
            async with page.client.request(asked, "/sign-in", headers=mia) as response:
                assert response.status == 200
        told = await page.send("POST", "/api/sign-in", mia, code, 409)
        assert (told["needs"], told["here"], told["person"]) == ("switch", "Mia", "Gus")
        assert (await page.send("GET", "/api/me", mia))["name"] == "Mia"
        own = {"code": (await page.invited("Mia"))["url"].partition("#")[2]}
        assert (await page.send("POST", "/api/sign-in", mia, own))["name"] == "Mia"  # she is it
        go = {**code, "switch": True}
        assert (await page.send("POST", "/api/sign-in", mia, go))["name"] == "Gus"
        await page.send("GET", "/api/me", mia, want=401)  # that browser is Gus's now
        await page.send("POST", "/api/sign-in", {}, code, 401)


async def test_the_audit_log_names_who_invited(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        eve = await page.person("Eve", "owner")
        await page.enter(await page.invited("Mia", "member", eve))
        found = await page.send("GET", "/api/audit?act=sign_in", page.at.headers)
        assert found["items"][0]["by"]["id"] == "web:mia"
        assert found["items"][0]["detail"]["invited_by"] == "web:eve"
        found = await page.send("GET", "/api/audit?act=grant", page.at.headers)
        assert found["items"][0]["by"]["id"] == "web:eve"


async def test_an_owner_no_more_is_shown_no_terminal_any_more(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        program = page.at.headers
        await page.person("Ash", "owner")
        dora = await page.person("Dora", "owner")
        await page.send("POST", "/api/submit", dora, said("@demo echo one", "web:general"))
        [live] = (await page.send("GET", "/api/sessions", dora))["sessions"]
        path = f"/api/sessions/{quote(live['id'], safe='')}/terminal"
        async with page.client.get(path, headers=dora) as stream:
            await stream.content.readuntil(b"\n\n")
            grants = (await page.send("GET", "/api/access", program))["grants"]
            [given] = [one for one in grants if one["person_id"] == "web:dora"]
            await page.send("DELETE", f"/api/access/grants/{given['seq']}", program)
            async with asyncio.timeout(90):
                told = await stream.content.read()
            assert told.endswith(b"event: closed\ndata: {}\n\n")


@pytest.mark.parametrize("name", ["shell", "ci"])
async def test_the_stream_of_a_token_that_was_revoked_tells_nothing_more(
    tmp_path: Path, name: str
) -> None:
    async with visited(tmp_path) as page:
        token = await printed(page.at, "token", "--name", name)
        bearer = {"Authorization": f"Bearer {token}"}
        async with page.client.get("/api/events", headers=bearer) as stream:
            await stream.content.readuntil(b"\n\n")
            assert await printed(page.at, "token", "revoke", name) == f"{name} is revoked"
            ash = await page.person("Ash", "owner")
            await page.send("POST", "/api/submit", ash, {"content": "hush", "room": "web:general"})
            async with asyncio.timeout(90):
                assert b"hush" not in await stream.content.read()


async def test_wrong_tokens_of_the_api_are_logged_and_no_number_of_them_fills_the_log(
    tmp_path: Path,
) -> None:
    async with visited(tmp_path) as page:
        await page.send("GET", "/api/rooms", {"Authorization": "Bearer guessed"}, want=401)
        await until(lambda: page.at.log().count("signin.failed") == 1)
        for number in range(200):
            await page.send("POST", "/api/sign-in", {}, {"code": f"guessed{number}"}, 401)
        await until(lambda: page.at.log().count("signin.failed") >= 20)
        await page.at.stop()
        assert page.at.log().count("signin.failed") == 20
        assert page.at.leaks("guessed") == []


async def test_a_question_says_who_may_answer_it_as_roles_are_then(tmp_path: Path) -> None:
    async with visited(tmp_path) as page:
        andi, gus = await page.person("Andi", "owner"), await page.person("Gus", "guest")

        async def named(by: Headers) -> list[list[str]]:
            told = await page.send("GET", "/api/rooms/web:general/messages", by)
            return [[one["name"] for one in asked["may_answer"]] for asked in told["questions"]]

        body = {"content": "@demo permission", "room": "web:general"}
        await page.send("POST", "/api/submit", andi, body)
        async with asyncio.timeout(30):
            while await named(gus) != [["Andi"]]:
                await asyncio.sleep(0.05)
        await page.person("Mia", "owner")
        assert await named(gus) == [["Andi", "Mia"]]
