"""One's own messages on the page: edited and deleted by their author alone, and live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from adapters.agent import Reply
from contract.chat import Room
from gateway.core.clock import clock
from gateway.settings.access import AccessTable
from gateway.web.page import PageSettings, open_page
from tests.doubles.credentials import bearer
from tests.doubles.running import gateway, until
from tests.doubles.scripted import ScriptedPrograms
from tests.gateway.test_signin import Door, said

GENERAL = "/api/rooms/web:general/messages"


@asynccontextmanager
async def door(tmp_path: Path, programs: ScriptedPrograms | None = None) -> AsyncIterator[Door]:
    async with (
        gateway(tmp_path, access=AccessTable(), programs=programs) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        await moot.house.services.chat.open_lobby()
        yield Door(moot, url, client, bearer(tmp_path))


async def texts(at: Door, who: Mapping[str, str], path: str = GENERAL) -> list[str]:
    return [one["text"] for one in (await at.get(path, who))["messages"]]


async def test_an_edit_keeps_the_first_text_and_asks_nobody_again(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        ada = await at.person("Ada")
        asked = await at.send("/api/submit", ada, said("@demo why is it red?"))
        await at.moot.settle()
        path = f"{GENERAL}/{asked['message_id']}"
        edited = await at.send(path, ada, {"content": "@demo why is it blue?"}, method="PUT")
        assert (edited["text"], edited["by"]["id"]) == ("@demo why is it blue?", "web:ada")
        assert edited["edited_at"] is not None
        await at.moot.settle()
        assert len(at.moot.programs.prompts) == 1
        stored = await at.moot.house.transcript.find("web:general", asked["message_id"])
        assert stored is not None
        assert (stored.content, stored.original) == (
            "@demo why is it blue?",
            "@demo why is it red?",
        )
        same = await at.send(path, ada, {"content": "@demo why is it blue?"}, method="PUT")
        assert same == edited, "nothing changes, nothing is told"
        reply = {"room": "web:general", "reply_to": asked["message_id"]}
        await at.send("/api/submit", ada, {"content": "!retry", **reply})
        await at.moot.settle()
        assert "@demo why is it blue?" in at.moot.programs.prompts[-1]
        assert len(at.moot.programs.prompts) == 2


async def test_a_deleted_question_that_waits_is_not_asked_and_nothing_is_remembered(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    async def slow(prompt: str, reply: Reply) -> str:
        await gate.wait()
        return "done"

    async with door(tmp_path, ScriptedPrograms(slow)) as at:
        ada = await at.person("Ada")
        await at.send("/api/submit", ada, said("@demo one"))
        await until(lambda: bool(at.moot.programs.prompts))
        waits = await at.send("/api/submit", ada, said("@demo my password is hunter2"))
        gone = await at.send(f"{GENERAL}/{waits['message_id']}", ada, {}, method="DELETE")
        assert gone == {"deleted": waits["message_id"]}
        gate.set()
        await at.moot.settle()
        assert len(at.moot.programs.prompts) == 1
        assert await texts(at, ada) == ["@demo one", "done"]
        await at.send("/api/submit", ada, said("@demo two"))
        await at.moot.settle()
        assert "hunter2" not in at.moot.programs.prompts[-1]
        again = await at.send(f"{GENERAL}/{waits['message_id']}", ada, {}, 404, "DELETE")
        assert again["error"]["message"] == "there is no such message"


async def test_nobody_changes_what_somebody_else_said(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        ada, bea = await at.person("Ada"), await at.person("Bea")
        root = await at.person("Root", "owner")
        asked = await at.send("/api/submit", ada, said("@demo hello"))
        await at.moot.settle()
        mine, answered = (await at.get(GENERAL, ada))["messages"]
        new: Any = {"content": "I resign"}
        for who in (bea, root, at.owner):
            for message in (mine, answered):
                path = f"{GENERAL}/{message['id']}"
                for method in ("PUT", "DELETE"):
                    told = await at.send(path, who, new, 403, method)
                    assert told["error"]["message"] == "only its author may change a message"
        await at.send(f"{GENERAL}/{answered['id']}", ada, new, 403, "PUT")
        await at.send(f"{GENERAL}/nothing", ada, new, 404, "PUT")
        await at.send(f"{GENERAL}/{asked['message_id']}", None, new, 401, "PUT")
        for empty in ({"content": " \n"}, {"content": 7}, {}):
            await at.send(f"{GENERAL}/{asked['message_id']}", ada, empty, 400, "PUT")
        assert (await texts(at, bea))[0] == "@demo hello"


async def test_a_direct_message_is_changed_by_its_person_alone(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        ada, root = await at.person("Ada"), await at.person("Root", "owner")
        room = {"id": "web:dm-ada-demo", "name": "demo", "kind": "dm"}
        sent = await at.send("/api/submit", ada, {"content": "between us", "room": room})
        path = f"/api/rooms/web:dm-ada-demo/messages/{sent['message_id']}"
        for who in (root, at.owner):
            told = await at.send(path, who, {"content": "x"}, 403, "PUT")
            assert "somebody else's eyes only" in told["error"]["message"]
        await at.send(path, ada, {"content": "for us two"}, method="PUT")
        assert (await texts(at, ada, "/api/rooms/web:dm-ada-demo/messages"))[0] == "for us two"


async def test_a_room_that_one_may_not_read_is_none(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        ada = await at.person("Ada")
        await at.moot.house.transcript.open_room(Room("fake:D1", "bob", "dm"), clock())
        told = await at.send("/api/rooms/fake:D1/messages/1", ada, {"content": "x"}, 404, "PUT")
        assert told["error"]["message"] == "there is no such room"


async def test_everybody_in_the_room_sees_it_at_once(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        ada, bea = await at.person("Ada"), await at.person("Bea")
        sent = await at.send("/api/submit", ada, said("hello"))
        path = f"{GENERAL}/{sent['message_id']}"
        heard: list[dict[str, Any]] = []
        async with at.client.get("/api/events", headers=bea) as stream:
            await at.send(path, ada, {"content": "good day"}, method="PUT")
            await at.send(path, ada, {}, method="DELETE")
            async with asyncio.timeout(20):
                async for line in stream.content:
                    if line.startswith(b"data: {"):
                        heard.append(json.loads(line[6:]))
                    if heard and heard[-1].get("type") == "deleted":
                        break
        assert [one["message"]["text"] for one in heard if one.get("type") == "edited"] == [
            "good day"
        ]
        assert heard[-1]["message_id"] == sent["message_id"]
