"""Tokens that expire, and homeservers without passwords: a real Synapse that delegates."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client

from tests.doubles import postgres, synapse
from tests.doubles.mas import DEVICE_GRANT, Mas
from tests.doubles.service import HOUSE, Service, service
from tests.doubles.synapse import SERVER, Person, Synapse
from tests.doubles.two import logged, made
from tests.test_matrix_whole import CONFIG, account, answered, ask, joined

SHARED = CONFIG[CONFIG.index("[[bots]]") :]


@pytest.fixture
async def mas() -> AsyncIterator[Mas]:
    async with Mas.open() as opened:
        yield opened


@pytest.fixture
def delegating(mas: Mas, homeserver: Synapse, tmp_path: Path) -> Iterator[Synapse]:
    """A Synapse that leaves its sign-in to MAS; skipped where there is no Synapse."""
    with synapse.synapse(tmp_path / "synapse", **mas.settings()) as running:
        mas.homeserver_url = running.url
        yield running


class SignedIn(Person):
    """Somebody whose token another service gave."""

    def __init__(self, at: Synapse, name: str, token: str) -> None:
        self.name, self.user_id = name, f"@{name}:{SERVER}"
        self.token, self._url = token, at.url


async def login(folder: Path) -> asyncio.subprocess.Process:
    """`moot login`, begun."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MOOT_HOME": str(folder),
        "PYTHONPATH": str(HOUSE),
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from gateway.main import main; main()",
        "login",
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def told(begun: asyncio.subprocess.Process) -> tuple[int | None, str]:
    """The exit code, and what was said."""
    async with asyncio.timeout(30):
        said, _ = await begun.communicate()
    return begun.returncode, said.decode()


def installed(folder: Path, homeserver: Synapse) -> Path:
    """A folder with moot.toml."""
    folder.mkdir()
    (folder / "moot.toml").write_text(CONFIG.format(url=homeserver.url))
    return folder


def kept(folder: Path) -> dict[str, Any]:
    path = folder / "data" / "bots" / "matrix" / "account.json"
    assert path.stat().st_mode & 0o777 == 0o600
    found: dict[str, Any] = json.loads(path.read_text())
    return found


async def kept_asking(person: Person, bot_id: str, moot: Service, pause_s: float) -> None:
    """Ask now and again, and once more after a restart; every question has its answer."""
    room = await person.room(bot_id, name="general")
    await joined(person, room, bot_id)
    asked = []
    for number in range(3):
        asked.append(await ask(person, room, bot_id, number))
        await answered(person, room, bot_id, asked, 30)
        await asyncio.sleep(pause_s)
    await moot.kill()
    await moot.start()
    asked.append(await ask(person, room, bot_id, 4))
    await answered(person, room, bot_id, asked, 30)


async def test_a_homeserver_without_passwords_is_signed_in_to_by_browser(
    mas: Mas, delegating: Synapse, tmp_path: Path
) -> None:
    """Its tokens last two seconds here; the bot goes on over many, and over a restart."""
    mas.lifetime_s, mas.slow_down = 2.0, 1
    folder = installed(tmp_path / "moot", delegating)
    begun = await login(folder)
    code = await mas.allow("claude")
    returned, said = await told(begun)
    assert (returned, code in said, f"matrix is @claude:{SERVER}" in said) == (0, True, True)
    first = kept(folder)
    andi = SignedIn(delegating, "andi", await mas.token("andi", "ANDI"))
    async with service(folder, CONFIG.format(url=delegating.url)) as moot:
        await kept_asking(andi, f"@claude:{SERVER}", moot, 1.5)
        now = kept(folder)
        assert "Traceback" not in moot.log()
        assert "device.signed" in moot.log()
        assert moot.leaks(first["token"], now["token"], now["refresh_token"]) == []
        mas.end("claude")
        async with asyncio.timeout(60):
            while "moot login matrix" not in moot.log():
                await asyncio.sleep(0.1)
    assert mas.asked.count("refresh_token") >= 2
    same = ("user_id", "device_id", "client_id", "pickle_key")
    assert [now[name] for name in same] == [first[name] for name in same]
    begun = await login(folder)
    await mas.allow("claude")
    assert (await told(begun))[0] == 0
    assert kept(folder)["device_id"] == first["device_id"]  # which has the keys


async def test_who_is_signed_in_on_one_machine_is_so_on_the_one_that_takes_over(
    mas: Mas, delegating: Synapse, tmp_path: Path
) -> None:
    """Into a database that no Moot has seen yet; and again, beside one that leads."""
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    mas.lifetime_s = 2.0
    bot, config = f"@claude:{SERVER}", SHARED.format(url=delegating.url)
    with postgres.server() as server:
        url = await postgres.new_database(server)
        first, second = (made(tmp_path / name, config, url, 0, {}) for name in ("one", "two"))
        try:
            await signed_in(first, mas)
            await first.start()
            await second.begin()
            await logged(second, "gateway.stands_by")
            andi = SignedIn(delegating, "andi", await mas.token("andi", "ANDI"))
            room = await andi.room(bot, name="general")
            await joined(andi, room, bot)
            asked = [await ask(andi, room, bot, 1)]
            await answered(andi, room, bot, asked, 30)
            await asyncio.sleep(2)  # its token is renewed meanwhile
            await first.kill()
            asked.append(await ask(andi, room, bot, 2))
            await second.serving()
            await answered(andi, room, bot, asked, 30)
            for number, machine in ((3, first), (4, second)):
                await signed_in(machine, mas)
                asked.append(await ask(andi, room, bot, number))
                await answered(andi, room, bot, asked, 30)
            assert not list(first.folder.rglob("account.json*"))
            assert "Traceback" not in first.log() + second.log()
        finally:
            await second.stop()
            await first.stop()


async def signed_in(moot: Service, mas: Mas) -> None:
    begun = await login(moot.folder)
    await mas.allow("claude")
    returned, said = await told(begun)
    assert returned == 0, said


async def test_a_sign_in_that_is_refused_says_so(
    mas: Mas, delegating: Synapse, tmp_path: Path
) -> None:
    folder = installed(tmp_path / "moot", delegating)
    begun = await login(folder)
    await mas.refuse()
    assert (await told(begun))[0] == 2
    assert not (folder / "data" / "bots" / "matrix" / "account.json").exists()


async def test_a_homeserver_with_passwords_says_how_to_sign_in(
    homeserver: Synapse, tmp_path: Path
) -> None:
    returned, said = await told(await login(installed(tmp_path / "moot", homeserver)))
    assert returned == 2
    assert "set MATRIX_USER and MATRIX_PASSWORD" in said


@pytest.mark.usefixtures("homeserver")  # there is a Synapse here
async def test_a_token_that_expires_is_refreshed_without_a_new_login(tmp_path: Path) -> None:
    short = {"refreshable_access_token_lifetime": "2s"}
    with synapse.synapse(tmp_path / "synapse", **short) as homeserver:
        bot_id, secret = account(homeserver)
        andi = Person(homeserver, "andi")
        folder = tmp_path / "moot"
        async with service(folder, CONFIG.format(url=homeserver.url), **secret) as moot:
            await kept_asking(andi, bot_id, moot, 1.5)
            now = kept(folder)
            assert "bot.login_renewed" not in moot.log()
            assert moot.leaks(now["token"], now["refresh_token"]) == []


async def test_the_double_is_an_oauth_server_to_authlib_too(mas: Mas, delegating: Synapse) -> None:
    asked = {"client_name": "x", "client_uri": "https://x.example", "grant_types": [DEVICE_GRANT]}
    async with aiohttp.ClientSession(mas.url) as http:
        async with http.post("/oauth2/registration", json=asked) as answer:
            client_id = (await answer.json())["client_id"]
        scope = "urn:matrix:client:api:* urn:matrix:client:device:DORA"
        form = {"client_id": client_id, "scope": scope}
        async with http.post("/oauth2/device", data=form) as answer:
            code = (await answer.json())["device_code"]
    url, wanted = f"{mas.url}/oauth2/token", {"grant_type": DEVICE_GRANT, "device_code": code}
    async with AsyncOAuth2Client(client_id, token_endpoint_auth_method="none") as client:
        with pytest.raises(AuthlibBaseError, match="authorization_pending"):
            await client.fetch_token(url, client_id=client_id, **wanted)
        await mas.allow("dora")
        first = await client.fetch_token(url, client_id=client_id, **wanted)
        second = await client.refresh_token(url, first["refresh_token"], client_id=client_id)
        with pytest.raises(AuthlibBaseError, match="invalid_grant"):
            await client.refresh_token(url, first["refresh_token"], client_id=client_id)
    assert first["access_token"] != second["access_token"]
    who = await SignedIn(delegating, "dora", second["access_token"]).call("GET", "/account/whoami")
    assert (who["user_id"], who["device_id"]) == (f"@dora:{SERVER}", "DORA")
