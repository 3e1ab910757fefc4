"""Who is let in: by our own name, from no other web site, with a credential that is good."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from contract.errors import ConfigError
from gateway.web.forwarded import Proxies
from gateway.web.page import PageSettings, open_page
from gateway.web.page_address import PageAuth, is_loopback
from gateway.web.signin.names import SHELL
from gateway.web.signin.own_token import check_own
from tests.doubles.bundle import SCRIPT
from tests.doubles.credentials import BEARER, SECRET, cookie_header, cookie_of, make_visitors
from tests.doubles.house import FakeHouse

ROOM = {"name": "x"}
TOKEN = "a-long-token-of-no-worth"
PLAIN = PageAuth()
NAMED = PageAuth(public_url="https://moot.example", hosts=("alias.example",))


@asynccontextmanager
async def opened(
    house: FakeHouse, tmp_path: Path, access: PageAuth = PLAIN
) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """The page, and a caller without any credential."""
    async with (
        open_page(house.services, PageSettings(tmp_path, access=access)) as url,
        aiohttp.ClientSession(url) as client,
    ):
        yield url, client


async def status(
    client: aiohttp.ClientSession, path: str, headers: Mapping[str, str] | None = None
) -> int:
    async with client.get(path, headers=headers) as response:
        return response.status


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "moot.localhost", "127.0.0.9"])
def test_loopback_has_many_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.1", "evil.example", "localhost.evil.com"])
def test_other_names_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "access",
    [PageAuth("0.0.0.0"), PageAuth("192.168.1.5"), NAMED, PageAuth(hosts=("moot.example",))],
)
def test_beyond_this_machine_a_token_that_can_be_guessed_is_refused(access: PageAuth) -> None:
    assert access.is_beyond
    for weak in ("a", "hunter2", "letters", "correcthorsebattery"):
        with pytest.raises(ConfigError, match="MOOT_TOKEN can be guessed"):
            check_own({"MOOT_TOKEN": weak}, beyond=True)
        assert check_own({"MOOT_TOKEN": weak}, beyond=False) == weak
    assert check_own({"MOOT_TOKEN": TOKEN}, beyond=True) == TOKEN
    assert check_own({}, beyond=True) is None


async def test_a_foreign_host_name_is_refused(client: aiohttp.ClientSession) -> None:
    for host in ("evil.example", "evil.example:80", "10.0.0.1", "", "["):
        assert await status(client, "/api/rooms", {"Host": host}) in (400, 421), host


async def test_our_own_names_are_taken(client: aiohttp.ClientSession) -> None:
    for host in ("localhost:1234", "127.0.0.1", "[::1]:99"):
        assert await status(client, "/api/rooms", {"Host": host}) == 200, host


async def test_names_behind_a_proxy_are_taken(house: FakeHouse, tmp_path: Path) -> None:
    async with opened(house, tmp_path, NAMED) as (_, client):
        for host in ("moot.example", "MOOT.example:443", "alias.example"):
            assert await status(client, "/api/rooms", {**BEARER, "Host": host}) == 200
        assert await status(client, "/api/rooms", {**BEARER, "Host": "evil.example"}) == 421
        for origin in ("https://moot.example", "https://alias.example"):
            headers = {**BEARER, "Host": "127.0.0.1", "Origin": origin}
            async with client.post("/api/rooms", json=ROOM, headers=headers) as response:
                assert response.status == 201
        headers = {**BEARER, "Host": "moot.example", "Origin": "https://evil.example"}
        async with client.post("/api/rooms", json=ROOM, headers=headers) as response:
            assert response.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
)
async def test_another_web_site_changes_nothing(
    client: aiohttp.ClientSession, house: FakeHouse, headers: dict[str, str]
) -> None:
    async with client.post("/api/rooms", json=ROOM, headers=headers) as response:
        assert response.status == 403
        assert "another web site" in (await response.json())["error"]["message"]
    assert house.calls == []


async def test_another_web_site_reads_nothing_but_may_link_here(
    client: aiohttp.ClientSession,
) -> None:
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert await status(client, "/api/rooms", cross) == 403
    assert await status(client, "/", {**cross, "Sec-Fetch-Mode": "navigate"}) == 200


async def test_the_page_itself_and_programs_are_let_in(
    client: aiohttp.ClientSession, url: str
) -> None:
    own = {"Origin": url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    for headers in (own, {}):
        async with client.post("/api/rooms", json=ROOM, headers=headers) as response:
            assert response.status == 201


async def test_without_a_credential_nothing_is_told(house: FakeHouse, tmp_path: Path) -> None:
    house.raises = RuntimeError("no route may come so far")
    async with opened(house, tmp_path) as (_, client):
        for path in ("/api/rooms", "/api/events", "/metrics", SCRIPT, "/nowhere"):
            async with client.get(path) as response:
                assert response.status == 401, path
                assert "Bearer" in response.headers["WWW-Authenticate"]
                told = (await response.json())["error"]["message"]
                assert "`moot open`" in told
                assert "`moot token`" in told
        for path in ("/api/rooms", "/api/submit", "/api/questions/q", "/api/access/grants"):
            async with client.post(path, json={}) as response:
                assert response.status == 401, path
        async with client.get("/", headers={"Accept": "text/html"}) as response:
            assert response.status == 401
            assert "<form" in await response.text()
        form = await (await client.get("/sign-in")).text()
        files = re.findall(r"/static/[\w.-]+", form)
        assert len(set(files)) == 2  # its script and the mark: the style stands in it
        for path in ("/sign-in", *files):
            assert await status(client, path) == 200
    assert house.calls == []


async def test_a_probe_hears_well_or_not_and_owners_hear_more(
    house: FakeHouse, tmp_path: Path
) -> None:
    async with opened(house, tmp_path) as (_, client):
        for headers in ({}, {"Host": "any.example"}, {"Authorization": "Bearer wrong"}):
            async with client.get("/healthz", headers=headers) as response:
                assert (response.status, await response.json()) == (200, {"ok": True})
        async with client.get("/healthz", headers=BEARER) as response:
            assert await response.json() == {"ok": True, "detail": {"store": "ok"}}


async def test_only_what_is_a_token_is_taken_for_one(house: FakeHouse, tmp_path: Path) -> None:
    async with opened(house, tmp_path) as (_, client):
        for wrong in ("Bearer nope", "Basic " + SECRET, "Bearer", "Bearer \xff", SECRET):
            assert await status(client, "/api/rooms", {"Authorization": wrong}) == 401
        async with client.get("/api/rooms", params={"token": SECRET}) as response:
            assert response.status == 401  # an address is no place for a token


async def test_a_chosen_token_is_an_owners(house: FakeHouse, tmp_path: Path) -> None:
    house.visitors = make_visitors(own=TOKEN)
    async with opened(house, tmp_path) as (_, client):
        assert await status(client, "/api/access", {"Authorization": f"Bearer {TOKEN}"}) == 200


async def test_a_token_for_the_metrics_is_good_for_these_alone(
    house: FakeHouse, tmp_path: Path
) -> None:
    from gateway.web.signin.secret import derived

    async with opened(house, tmp_path) as (_, client):
        made = await house.visitors.tokens.get("prometheus", "metrics", SHELL)
        headers = {"Authorization": f"Bearer {derived(SECRET, made.salt, 'metrics')}"}
        assert await status(client, "/metrics", headers) == 200
        for path in ("/api/rooms", "/", "/api/access", "/api/me"):
            assert await status(client, path, headers) == 403
        async with client.post("/api/sign-in", json={"token": headers["Authorization"][7:]}) as no:
            assert no.status == 401
        await house.visitors.tokens.revoke("prometheus", SHELL)
        assert await status(client, "/metrics", headers) == 401
        assert await status(client, "/metrics", BEARER) == 200


async def test_guessing_is_slowed_down_and_stops_nobody_who_need_not_guess(
    house: FakeHouse, tmp_path: Path
) -> None:
    now = [0.0]
    house.visitors = make_visitors(own=TOKEN, now=lambda: now[0])
    async with opened(house, tmp_path) as (url, client):
        cookie = await cookie_of(house.visitors)
        for _ in range(5):
            async with client.post("/api/sign-in", json={"token": "wrong"}) as response:
                assert response.status == 401
                assert (await response.json())["error"]["message"] == "that is not the token"
        waits = []
        for _ in range(12):
            async with client.post("/api/sign-in", json={"token": TOKEN}) as response:
                assert response.status == 429
                waits.append(int(response.headers["Retry-After"]))
            assert await status(client, "/api/rooms", {"Authorization": f"Bearer {TOKEN}"}) == 429
            now[0] += waits[-1]
            async with client.post("/api/sign-in", json={"token": "wrong"}) as response:
                assert response.status == 401
        assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
        assert await status(client, "/api/rooms", BEARER) == 200
        assert await status(client, "/api/rooms", cookie_header(url, cookie)) == 200
        link = await house.visitors.people.invite("Budi", None, SHELL)
        async with client.post("/api/sign-in", json={"code": link.code}) as response:
            assert response.status == 200
        now[0] += 900
        async with client.post("/api/sign-in", json={"token": TOKEN}) as response:
            assert response.status == 200


async def test_many_addresses_that_guess_are_slowed_down_together(
    house: FakeHouse, tmp_path: Path
) -> None:
    house.visitors = make_visitors(own=TOKEN)
    behind = PageAuth(proxies=Proxies.of(["127.0.0.1"]))
    async with opened(house, tmp_path, behind) as (_, client):
        for number in range(100):
            headers = {"X-Forwarded-For": f"10.0.0.{number}"}
            body = {"token": "wrong"}
            async with client.post("/api/sign-in", json=body, headers=headers) as response:
                assert response.status == 401
        headers = {"X-Forwarded-For": "10.0.1.1"}
        async with client.post("/api/sign-in", json={"token": TOKEN}, headers=headers) as response:
            assert response.status == 429
