"""People of the page: invited once, signed in until they are not, each with their own eyes."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.agent import Reply
from contract.agent import Option, Question
from contract.chat import Inbound, IngestMetadata, Room
from contract.errors import Rejected
from gateway.audit.audit import AuditFilter
from gateway.core.clock import clock
from gateway.core.private_folders import OWNER_SECRET
from gateway.questions.ballot import Ballot
from gateway.settings.access import AccessTable, Role
from gateway.web.forwarded import Proxies
from gateway.web.page import PageSettings, open_page
from gateway.web.page_address import PageAuth
from gateway.web.signin.names import SHELL, person_of
from gateway.web.signin.secret import owner_secret
from tests.doubles.credentials import bearer, cookie_header, cookie_of
from tests.doubles.running import Opened, gateway, until
from tests.doubles.scripted import ScriptedPrograms

ELSEWHERE = Room("fake:general", "general")


@dataclass
class Door:
    """The page of a whole gateway, on the way in."""

    moot: Opened
    url: str
    client: aiohttp.ClientSession
    owner: Mapping[str, str]  # of a program with the owner's secret

    async def person(self, name: str, role: Role = "member") -> Mapping[str, str]:
        """Somebody who is invited, and signs in."""
        return cookie_header(self.url, await cookie_of(self.moot.house.visitors, name, role))

    async def get(self, path: str, headers: Mapping[str, str] | None, status: int = 200) -> Any:
        async with self.client.get(path, headers=headers) as response:
            assert response.status == status, await response.text()
            return await response.json()

    async def send(
        self,
        path: str,
        headers: Mapping[str, str] | None,
        body: object,
        status: int = 200,
        method: str = "POST",
    ) -> Any:
        async with self.client.request(method, path, json=body, headers=headers) as response:
            assert response.status == status, await response.text()
            return await response.json()

    async def acts(self, act: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Who did it, as the audit log says, and its detail."""
        rows = await self.moot.house.audit.page(AuditFilter(act=act), before=None, limit=50)
        return [(row.by.id if row.by else "", row.detail) for row in rows]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    access = AccessTable(second_person="never")
    async with (
        gateway(tmp_path, access=access) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        await moot.house.services.chat.open_lobby()
        yield Door(moot, url, client, bearer(tmp_path))


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": text, "room": "web:general", **more}


# ── Links ───────────────────────────────────────────────────────────────────────────────


async def test_the_owners_link_asks_for_a_name_and_works_once(door: Door) -> None:
    link = await door.send("/api/page/links", door.owner, {}, 201)
    address, _, code = link["url"].partition("#")
    assert address == f"{door.url}sign-in"
    told = await door.send("/api/sign-in", None, {"code": code}, 409)
    assert told["needs"] == "name"  # and nothing is used up
    async with door.client.post("/api/sign-in", json={"code": code, "name": "Ash Lee"}) as response:
        assert await response.json() == {
            "id": "web:ash_lee", "name": "Ash Lee", "role": "owner", "owner": True, "person": True,
            "house_owner": {"id": "web:ash_lee", "name": "Ash Lee"},
        }  # fmt: skip
        cookie = response.headers["Set-Cookie"]
    assert re.match(r"moot-\d+=[\w-]{43};", cookie)
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    used = await door.send("/api/sign-in", None, {"code": code, "name": "Eve"}, 401)
    assert "used already" in used["error"]["message"]
    headers = {"Cookie": cookie.partition(";")[0]}
    assert (await door.get("/api/me", headers))["id"] == "web:ash_lee"
    again = (await door.send("/api/page/links", door.owner, {}, 201))["url"].partition("#")[2]
    assert (await door.send("/api/sign-in", None, {"code": again}))["id"] == "web:ash_lee"
    assert [(by, row["how"]) for by, row in await door.acts("sign_in")] == [
        ("web:ash_lee", "link"), ("web:ash_lee", "link"),
    ]  # fmt: skip


async def test_a_link_is_used_by_one_of_many_who_try(door: Door) -> None:
    link = await door.moot.house.visitors.people.invite("Budi", "member", SHELL)

    async def use() -> int:
        async with door.client.post("/api/sign-in", json={"code": link.code}) as response:
            return response.status

    assert sorted(await asyncio.gather(*(use() for _ in range(8)))) == [200, *[401] * 7]


async def test_the_owners_token_signs_in_on_the_form(door: Door) -> None:
    token = door.owner["Authorization"].removeprefix("Bearer ")
    wrong = await door.send("/api/sign-in", None, {"token": "wrong"}, 401)
    assert wrong["error"]["message"] == "that is not the token"
    assert (await door.send("/api/sign-in", None, {"token": token}, 409))["needs"] == "name"
    made = await door.send("/api/sign-in", None, {"token": token, "name": "Ash"})
    assert (made["id"], made["owner"]) == ("web:ash", True)


async def test_an_owner_invites_and_takes_it_back(door: Door) -> None:
    ash = await door.person("Ash", "owner")
    made = await door.send("/api/page/invitations", ash, {"name": "Budi", "role": "guest"}, 201)
    code = made["url"].partition("#")[2]
    listed = await door.get("/api/page/users", ash)
    assert [one["person_name"] for one in listed["invitations"]] == ["Budi"]
    assert code not in str(listed)
    path = f"/api/page/invitations/{made['id']}"
    await door.send(path, ash, None, method="DELETE")
    await door.send("/api/sign-in", None, {"code": code}, 401)
    made = await door.send("/api/page/invitations", ash, {"name": "Budi", "role": "guest"}, 201)
    budi = await door.send("/api/sign-in", None, {"code": made["url"].partition("#")[2]})
    assert (budi["id"], budi["role"], budi["owner"]) == ("web:budi", "guest", False)
    assert [by for by, _ in await door.acts("invite")] == ["web:ash"] * 3 + ["moot:shell"]


@pytest.mark.parametrize("name", ["", "   ", "!!!", "page", "x" * 81, "a\x00b"])
def test_a_name_has_letters_and_is_not_moots_own(name: str) -> None:
    with pytest.raises(Rejected):
        person_of(name)


@pytest.mark.parametrize(
    ("name", "person"),
    [("Ash Lee", "web:ash_lee"), ("Ölivia-Ann", "web:ölivia_ann"), ("ＡＳＨ", "web:ash")],
)
def test_a_name_makes_the_id_that_the_page_always_made(name: str, person: str) -> None:
    assert person_of(name)[0] == person


# ── Sessions ────────────────────────────────────────────────────────────────────────────


async def test_a_session_is_kept_as_a_hash_and_ends_when_it_is_revoked(
    door: Door, tmp_path: Path
) -> None:
    cookie = await cookie_of(door.moot.house.visitors, "Ash", "owner")
    ash = cookie_header(door.url, cookie)
    [session] = (await door.get("/api/me/sessions", ash))["sessions"]
    assert session["here"]
    data = b"".join(path.read_bytes() for path in tmp_path.glob("moot.db*"))
    assert session["id"].encode() in data
    assert cookie.encode() not in data
    await door.get("/api/rooms", ash)
    async with door.client.get("/api/events", headers=ash) as stream:
        await stream.content.readuntil(b"\n\n")
        ended = await door.send(
            f"/api/page/sessions/{session['id']}", door.owner, None, method="DELETE"
        )
        assert ended == {"ended": 1}
        await door.send("/api/rooms", door.owner, {"name": "news"}, 201)
        assert b"news" not in await stream.content.read()  # and it is over
    await door.get("/api/rooms", ash, 401)


async def test_nobody_ends_sessions_of_others_but_an_owner(door: Door) -> None:
    ash, budi = await door.person("Ash", "owner"), await door.person("Budi")
    [session] = (await door.get("/api/me/sessions", ash))["sessions"]
    await door.send(f"/api/me/sessions/{session['id']}", budi, None, 404, method="DELETE")
    await door.send(f"/api/page/sessions/{session['id']}", budi, None, 403, method="DELETE")
    await door.send("/api/sign-out", ash, {})
    await door.get("/api/me", ash, 401)
    await door.get("/api/me", budi)


async def test_everything_is_known_again_after_a_restart(door: Door) -> None:
    budi = await door.person("Budi")
    await door.moot.house.visitors.people.load()
    assert (await door.get("/api/me", budi))["id"] == "web:budi"


async def test_a_closed_account_has_nothing_left(door: Door) -> None:
    ash, budi = await door.person("Ash", "owner"), await door.person("Budi", "owner")
    await door.send("/api/page/users/web:budi", ash, None, method="DELETE")
    await door.get("/api/me", budi, 401)
    assert not door.moot.house.visitors.people.is_owner("web:budi")
    fresh = await door.person("Budi", "guest")  # an owner lets them in again
    assert (await door.get("/api/me", fresh))["role"] == "guest"


async def test_who_loses_the_role_loses_what_it_opened_at_once(door: Door) -> None:
    ash, budi = await door.person("Ash", "owner"), await door.person("Budi", "owner")
    await door.get("/api/access", budi)
    grants = (await door.get("/api/access", ash))["grants"]
    [seq] = [one["seq"] for one in grants if one["person_id"] == "web:budi"]
    await door.send(f"/api/access/grants/{seq}", ash, None, method="DELETE")
    await door.get("/api/access", budi, 403)
    assert ("web:ash", "web:budi") in [(by, d["person"]) for by, d in await door.acts("revoke")]


async def test_behind_tls_the_cookie_is_for_tls_alone(door: Door, tmp_path: Path) -> None:
    people = door.moot.house.visitors.people
    for headers in ({"X-Forwarded-Proto": "https"}, {"Host": "moot.example"}):
        proxies = Proxies.of(["127.0.0.1"])
        access = PageAuth(public_url="https://moot.example", proxies=proxies)
        settings = PageSettings(tmp_path, access=access)
        async with (
            open_page(door.moot.house.services, settings) as url,
            aiohttp.ClientSession(url) as client,
        ):
            body = {"code": (await people.invite("Budi", None, SHELL)).code}
            async with client.post("/api/sign-in", json=body, headers=headers) as response:
                assert response.status == 200
                assert "Secure" in response.headers["Set-Cookie"]


# ── Who says and does it ────────────────────────────────────────────────────────────────


async def test_what_is_said_is_said_by_who_signed_in(door: Door) -> None:
    budi = await door.person("Budi")
    metadata = {"source": "slack", "sender_id": "web:budi", "sender_display_name": "Olivia (owner)",
                "sender_type": "bot", "sender_role": "owner", "mention_token": "<@U1>"}  # fmt: skip
    at = "2020-01-01T00:00:00Z"
    await door.send("/api/submit", budi, said("hello", metadata=metadata, sent_at=at))
    await door.send("/api/submit", budi, said("and so"))  # nobody need say who they are
    [first, second] = await door.moot.house.transcript.page("web:general", None, 10)
    assert {(m.by.id, m.by.name, m.by.kind) for m in (first, second)} == {
        ("web:budi", "Budi", "human")
    }
    assert first.sent_at.year > 2020
    assert "sender_role" not in first.meta
    for forged in ({"sender_id": "web:ash"}, {"metadata": {"sender_id": "slack:U1"}}):
        refused = await door.send("/api/submit", budi, said("I am Ash", **forged), 403)
        assert refused["error"]["message"] == (
            "you are signed in as Budi (web:budi): nobody speaks for somebody else"
        )
    refused = await door.send("/api/submit", budi, said("hi", room="slack:C1"), 403)
    assert "lives on slack" in refused["error"]["message"]


async def test_acts_are_those_of_who_signed_in(door: Door) -> None:
    ash = await door.person("Ash", "owner")
    grant = {"person_id": "slack:U1", "role": "guest"}
    await door.send("/api/access/grants", ash, grant, 201)
    await door.send("/api/access/grants", ash, {**grant, "by": "web:ash"}, 201)
    await door.send("/api/access/grants", ash, {**grant, "by": "slack:UOWNER"}, 403)
    given = [by for by, detail in await door.acts("grant") if detail["person"] == "slack:U1"]
    assert given == ["web:ash", "web:ash"]


OWNERS = [
    "/api/access", "/api/audit", "/api/usage", "/api/schedules", "/api/admin/overview", "/metrics",
    "/api/admin/turns", "/api/personas/files", "/api/page/users", "/api/page/sessions",
    "/api/page/tokens",
]  # fmt: skip


@pytest.mark.parametrize("role", ["guest", "member"])
async def test_what_is_for_owners_is_for_nobody_else(door: Door, role: Role) -> None:
    budi, ash = await door.person("Budi", role), await door.person("Ash", "owner")
    for path in OWNERS:
        refused = await door.get(path, budi, 403)
        assert refused["error"]["message"] == "this is for owners of this Moot"
    for path in OWNERS[:5]:
        await door.get(path, ash)
    await door.send("/api/access/grants", budi, {"person_id": "web:budi", "role": "owner"}, 403)
    await door.send("/api/page/invitations", budi, {"name": "Eve", "role": "owner"}, 403)
    await door.send("/api/inject", budi, said("x"), 403)
    await door.send("/api/page/links", ash, {}, 403)  # an owner's link is the machine's to give


async def test_a_guest_reads_the_pages_rooms_and_no_others(door: Door) -> None:
    budi, ash = await door.person("Budi", "guest"), await door.person("Ash", "owner")
    meta = IngestMetadata(
        source="fake", sender_id="fake:olivia", sender_display_name="Olivia", sender_type="human"
    )
    private = Room("fake:dm", "Olivia", "dm")
    for room in (ELSEWHERE, private):
        await door.moot.hear(Inbound("our words", meta, room, f"m-{room.id}", clock()))
    await door.send("/api/submit", door.owner, said(
        "here", metadata={"source": "web", "sender_id": "web:eve", "sender_display_name": "Eve",
                          "sender_type": "human"}))  # fmt: skip
    shown = {room["id"] for room in (await door.get("/api/rooms", budi))["rooms"]}
    assert shown == {"web:general", "fake:general"}  # a guest everywhere, and nobody's DM
    await door.get("/api/rooms/fake:dm/messages", budi, 404)
    await door.get("/api/rooms/fake:dm/memory", budi, 404)
    await door.get("/api/rooms/fake:general/messages", budi)
    assert "fake:dm" in {room["id"] for room in (await door.get("/api/rooms", ash))["rooms"]}


# ── Direct messages ─────────────────────────────────────────────────────────────────────

DIRECT = "web:dm-budi-demo"


async def test_a_direct_message_is_for_its_persons_eyes_alone(door: Door) -> None:
    budi, ash = await door.person("Budi"), await door.person("Ash", "owner")
    async with (
        door.client.get("/api/events", headers=ash) as others,
        door.client.get("/api/events", headers=budi) as own,
    ):
        for stream in (others, own):
            await stream.content.readuntil(b"\n\n")
        receipt = await door.send(
            "/api/submit", budi, said("my salary is 1234", room=DIRECT, wait=20)
        )
        assert receipt["replies"][0]["state"] == "posted"
        await door.send("/api/rooms", door.owner, {"name": "the end"}, 201)
        for stream, sees in ((others, False), (own, True)):
            told = b""
            async with asyncio.timeout(10):
                while b"the end" not in told:
                    told += await stream.content.readuntil(b"\n\n")
            assert (b"1234" in told) is sees
            assert (DIRECT.encode() in told) is sees
    [turn] = receipt["turn_ids"]
    memory = f"/api/rooms/{DIRECT}/memory"
    for path in (
        f"/api/rooms/{DIRECT}/messages",
        f"/api/turns/{turn}",
        f"/api/events?room={DIRECT}",
        *(memory, f"{memory}/facts", f"{memory}/observations", f"{memory}/search?q=salary"),
    ):
        for stranger in (ash, door.owner):
            refused = await door.get(path, stranger, 403)
            assert "somebody else's eyes only" in refused["error"]["message"], path
        if "events" not in path:
            await door.get(path, budi)
    for stranger, seen in ((ash, False), (door.owner, False), (budi, True)):
        rooms = {room["id"] for room in (await door.get("/api/rooms", stranger))["rooms"]}
        assert (DIRECT in rooms) is seen
    await door.send("/api/submit", ash, said("let me see", room=DIRECT), 403)
    speaks = {"source": "web", "sender_id": "web:budi", "sender_display_name": "Budi",
              "sender_type": "human"}  # fmt: skip
    refused = await door.send(
        "/api/submit", door.owner, said("what did I say?", room=DIRECT, metadata=speaks), 403
    )
    assert "direct message" in refused["error"]["message"]
    preview = {"name": "demo", "message": "what?", "by": "web:budi"}
    await door.send("/api/personas/preview", door.owner, preview, 403)
    await door.send(
        "/api/personas/preview", ash, {**preview, "by": "web:ash", "room_id": DIRECT}, 403
    )


async def test_a_name_that_was_typed_before_is_claimed_by_an_invitation(door: Door) -> None:
    typed = {"source": "web", "sender_id": "web:budi", "sender_display_name": "Budi",
             "sender_type": "human"}  # fmt: skip
    await door.send("/api/submit", door.owner, said("years ago", room=DIRECT, metadata=typed))
    await door.moot.settle()
    ash = await door.person("Ash", "owner")
    for anybody in (ash, door.owner):
        await door.get(f"/api/rooms/{DIRECT}/messages", anybody, 403)
    budi = await door.person("Budi")
    messages = (await door.get(f"/api/rooms/{DIRECT}/messages", budi))["messages"]
    assert messages[0]["text"] == "years ago"


# ── Questions ───────────────────────────────────────────────────────────────────────────


def asking(detail: str) -> ScriptedPrograms:
    question = Question("q1", "Run this command?", detail, (Option("Yes"), Option("No", True)))

    async def ask(prompt: str, reply: Reply) -> str:
        return f"chose {await reply.choose(question)}"

    return ScriptedPrograms(ask)


async def ask_the_agent(door: Door, by: Mapping[str, str], room: str = "web:general") -> str:
    """Begin a turn whose agent asks; the path to answer it."""
    await door.send("/api/submit", by, said("@demo go", room=room))
    await until(lambda: bool(door.moot.house.questions.open_in(room)))
    return f"/api/questions/{door.moot.house.questions.open_in(room)[0].question.id}"


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Door]:
    """A page on which two people must allow what is dangerous."""
    access = AccessTable(second_person="dangerous")
    async with (
        gateway(tmp_path, access=access, programs=asking("rm -rf build")) as moot,
        open_page(moot.house.services, PageSettings(tmp_path / "files")) as url,
        aiohttp.ClientSession(url, cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        await moot.house.services.chat.open_lobby()
        yield Door(moot, url, client, bearer(tmp_path))


async def test_two_people_of_the_page_allow_what_one_may_not(strict: Door) -> None:
    door = strict
    ash, budi = await door.person("Ash", "owner"), await door.person("Budi", "owner")
    eve = await door.person("Eve", "member")
    question = await ask_the_agent(door, eve)
    await door.send(question, eve, {"option": 0, "by": "web:eve"}, 403)
    await door.send(question, ash, {"option": 0, "by": "web:budi"}, 403)  # nobody is two people
    assert await door.send(question, ash, {"option": 0, "by": "web:ash"}) == {"choice": "agreed"}
    assert await door.send(question, ash, {"option": 0, "by": "web:ash"}) == {"choice": "agreed"}
    assert await door.send(question, budi, {"option": 0, "by": "web:budi"}) == {"choice": "taken"}
    await door.moot.settle()
    assert [(by, d["via"], d["allowed"]) for by, d in await door.acts("answer")] == [
        ("web:budi", "page", True)
    ]
    assert [by for by, _ in await door.acts("agree")] == ["web:ash"]
    assert [by for by, _ in await door.acts("deny")] == ["web:eve"]


async def test_alone_on_the_page_nobody_is_asked_for_two(strict: Door) -> None:
    ash = await strict.person("Ash", "owner")
    await strict.send("/api/submit", ash, said("@demo go", wait=20))
    assert [d["reason"] for _, d in await strict.acts("lapse")] == ["alone"]


async def test_one_of_the_page_and_one_of_a_platform_may_be_the_same_human() -> None:
    ballot = Ballot(2, [1])
    assert ballot.choose(0, "slack:UOLIVIA") == "waits"
    assert ballot.choose(0, "web:olivia") == "waits"
    assert ballot.choose(0, "slack:UPAUL") == "decided"
    ballot = Ballot(2, [1])
    assert ballot.choose(0, "web:olivia") == "waits"
    assert ballot.choose(0, "web:paul") == "decided"


# ── What an agent on this machine can do ────────────────────────────────────────────────


async def test_whoever_shows_nothing_neither_reads_nor_answers_nor_rises(
    strict: Door, tmp_path: Path
) -> None:
    """An agent with a shell, on this machine, without the secret."""
    door = strict
    ash, _ = await door.person("Ash", "owner"), await door.person("Budi", "owner")
    question = await ask_the_agent(door, ash)
    tries = [
        ("GET", "rooms", None),
        ("GET", "rooms/web:general/messages", None),
        ("GET", "events", None),
        ("POST", "questions/q1", {"option": 0, "by": {"id": "web:ash", "name": "Ash"}}),
        ("POST", "access/grants", {"person_id": "slack:UEVE", "role": "owner"}),
        ("POST", "page/links", {}),
        ("POST", "page/invitations", {"name": "Eve", "role": "owner"}),
        ("POST", "submit", said("@demo go")),
    ]
    curl = shutil.which("curl")
    assert curl is not None
    for headers in ((), ("Cookie: moot=x",), ("Authorization: Bearer x",)):
        for method, path, body in tries:
            words = [curl, "-s", "-X", method, "-w", "%{http_code}", f"{door.url}api/{path}"]
            for header in headers:
                words += ["-H", header]
            if body is not None:
                words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
            process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
            told, _ = await process.communicate()
            assert told.decode().endswith(("401", "429")), (method, path, told)
    assert len(door.moot.house.questions.open_in("web:general")) == 1
    assert [by for by, _ in await door.acts("grant")] == ["moot:shell"] * 2  # of the two owners
    await door.send(question, ash, {"option": 1, "by": "web:ash"})


async def test_the_secret_is_in_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    secret = owner_secret(data)
    assert (data / OWNER_SECRET).stat().st_mode & 0o777 == 0o600
    (data / OWNER_SECRET).chmod(0o644)
    assert owner_secret(data) == secret
    assert (data / OWNER_SECRET).stat().st_mode & 0o777 == 0o600
    (data / OWNER_SECRET).write_text("cut")
    assert owner_secret(data) not in (secret, "cut")
