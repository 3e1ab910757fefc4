"""Who is let in: this machine or the token, by our own name, from no other web site."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from contract.errors import ConfigError
from gateway.web.auth import PageAuth, is_loopback
from gateway.web.page import PageSettings, open_page
from tests.doubles.house import FakeHouse

ROOM = {"name": "x"}
TOKEN = "a-long-token-of-no-worth"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "moot.localhost", "127.0.0.9"])
def test_loopback_has_many_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.1", "evil.example", "localhost.evil.com"])
def test_other_names_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "moot.example"])
def test_listening_beyond_loopback_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="token"):
        PageAuth().check(host)
    PageAuth(token=TOKEN).check(host)


def test_a_name_beyond_loopback_needs_a_token_too() -> None:
    with pytest.raises(ConfigError, match="without a token"):
        PageAuth(hosts=("moot.example",)).check("127.0.0.1")


async def test_a_foreign_host_name_is_refused(client: aiohttp.ClientSession) -> None:
    for host in ("evil.example", "evil.example:80", "10.0.0.1", "", "["):
        async with client.get("/api/rooms", headers={"Host": host}) as response:
            assert response.status in (400, 421), host


async def test_our_own_names_are_taken(client: aiohttp.ClientSession) -> None:
    for host in ("localhost:1234", "127.0.0.1", "[::1]:99"):
        async with client.get("/api/rooms", headers={"Host": host}) as response:
            assert response.status == 200, host


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
    async with client.get("/api/rooms", headers=cross) as response:
        assert response.status == 403
    async with client.get("/", headers={**cross, "Sec-Fetch-Mode": "navigate"}) as response:
        assert response.status == 200


async def test_the_page_itself_and_programs_are_let_in(
    client: aiohttp.ClientSession, url: str
) -> None:
    own = {"Origin": url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    for headers in (own, {}):
        async with client.post("/api/rooms", json=ROOM, headers=headers) as response:
            assert response.status == 201


async def test_with_a_token_nothing_is_told_without_it(house: FakeHouse, tmp_path: Path) -> None:
    settings = PageSettings(tmp_path, access=PageAuth(token=TOKEN, hosts=("moot.example",)))
    async with open_page(house.services, settings) as url, aiohttp.ClientSession(url) as client:
        for path in ("/", "/api/rooms", "/api/events", "/metrics", "/static/app.js"):
            async with client.get(path) as response:
                assert response.status == 401, path
                assert "Bearer" in response.headers["WWW-Authenticate"]
        async with client.post("/api/rooms", json=ROOM) as response:
            assert response.status == 401
        async with client.get("/healthz") as response:
            assert response.status == 200
        for wrong in ("Bearer nope", "Basic " + TOKEN, "Bearer", "Bearer \xff"):
            async with client.get("/api/rooms", headers={"Authorization": wrong}) as response:
                assert response.status == 401
        right = {"Authorization": f"Bearer {TOKEN}", "Host": "moot.example"}
        async with client.get("/api/rooms", headers=right) as response:
            assert response.status == 200
        proxied = {**right, "Host": "127.0.0.1", "Origin": "https://moot.example"}
        async with client.post("/api/rooms", json=ROOM, headers=proxied) as response:
            assert response.status == 201
        async with client.get("/api/rooms", headers={**right, "Host": "evil.example"}) as response:
            assert response.status == 421
        async with client.get("/api/rooms", params={"token": TOKEN}) as response:
            assert response.status == 401  # an address is no place for a token, but once


async def test_opening_the_page_with_the_token_leaves_a_cookie(
    house: FakeHouse, tmp_path: Path
) -> None:
    settings = PageSettings(tmp_path, access=PageAuth(token=TOKEN))
    jar = aiohttp.CookieJar(unsafe=True)  # takes cookies of an address
    async with (
        open_page(house.services, settings) as url,
        aiohttp.ClientSession(url, cookie_jar=jar) as client,
    ):
        page = {"Accept": "text/html"}
        async with client.get("/", params={"token": "wrong"}, headers=page) as response:
            assert response.status == 401
            assert "<form" in await response.text()
        async with client.get("/", params={"token": TOKEN}, allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/")
            cookie = response.headers["Set-Cookie"]
            assert TOKEN not in cookie
            assert "HttpOnly" in cookie
            assert "SameSite=Lax" in cookie
        async with client.get("/api/rooms") as response:
            assert response.status == 200
        cross = {"Origin": "https://evil.example"}
        async with client.post("/api/rooms", json=ROOM, headers=cross) as response:
            assert response.status == 403
