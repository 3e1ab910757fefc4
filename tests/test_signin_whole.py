"""The whole way in: the link of `moot run`, the command line, sessions, a proxy with TLS."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.doubles.ports import free_port
from tests.doubles.service import HOUSE, Service, service

CONFIG = """\
[gateway]
listen = "127.0.0.1:0"
public_url = "https://moot.test"
[agents.demo]
profile = "demo"
env = { MOOT_DEMO_PACE = "0" }
"""
NAME = "moot.test"


async def moot(at: Service, *words: str, **more: str) -> tuple[int, str, str]:
    """A command beside what runs: its exit code, and what it printed."""
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(at.folder),
        "MOOT_HOME": str(at.folder),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from gateway.main import main; main()", *words),
        cwd=at.folder,
        env={**environment, "PYTHONPATH": str(HOUSE), **more},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode().strip(), err.decode().strip()


async def printed(at: Service, *words: str) -> str:
    code, out, err = await moot(at, *words)
    assert code == 0, err
    return out


async def curl(at: Service, path: str, token: str = "", *words: str) -> tuple[int, str]:
    header = ["-H", f"Authorization: Bearer {token}"] if token else []
    process = await asyncio.create_subprocess_exec(
        "curl", "-s", "-w", "\n%{http_code}", *header, *words, f"{at.url}{path}",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    body, _, status = out.decode().rpartition("\n")
    return int(status), body


async def test_scripts_come_with_a_token_that_can_be_taken_back(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as at:
        status, told = await curl(at, "api/rooms")
        assert (status, "moot token" in told) == (401, True)
        token = await printed(at, "token")
        assert await printed(at, "token") == token
        assert (await curl(at, "api/rooms", token))[0] == 200
        metrics = await printed(at, "token", "--read", "metrics")
        assert "moot_messages_total" in (await curl(at, "metrics", metrics))[1]
        assert (await curl(at, "api/rooms", metrics))[0] == 403
        assert (await curl(at, "metrics", token))[0] == 200
        assert "script" in await printed(at, "token", "list")
        assert await printed(at, "token", "revoke") == "script is revoked"
        assert (await curl(at, "api/rooms", token))[0] == 401
        assert (await moot(at, "token", "revoke", "nobody"))[0] == 1
        again = await printed(at, "token")
        assert again != token
        await at.stop()
        assert await printed(at, "token") == again  # of the database, while it doesn't run
        await at.start()
        assert (await curl(at, "api/rooms", again))[0] == 200
        stored = b"".join(path.read_bytes() for path in (tmp_path / "data").glob("moot.db*"))
        assert again.encode() not in stored
        assert at.leaks(again, token, metrics, at.link.rpartition("#")[2]) == []


async def test_a_terminal_asks_and_gets_the_reply(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as at:
        assert await printed(at, "ask", "@demo echo hello you") == "hello you"
        whole = json.loads(await printed(at, "ask", "@demo echo so", "--json", "--room", "lab"))
        assert (whole["room_id"], whole["replies"][0]["text"]) == ("web:lab", "so")
        code, out, err = await moot(at, "ask", "hello, anybody?")
        assert (code, out) == (1, "")
        assert "name a persona" in err
        token = await printed(at, "token")
        shown = await curl(at, "api/rooms/web:general/messages", token)
        assert "hello you" in shown[1]
    code, _, err = await moot(at, "ask", "@demo hello")
    assert (code, "no Moot runs here" in err) == (2, True)


async def test_an_agent_that_prints_a_token_shows_none(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG) as at:
        token = await printed(at, "token")
        secret = (tmp_path / "data" / "owner.secret").read_text().strip()
        told = await printed(at, "ask", f"@demo echo {token} and {secret}")
        assert token not in told
        assert secret not in told


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of our own, and its key, in one file."""
    file = tmp_path / "moot.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", file,
         "-out", tmp_path / "cert.pem", "-subj", f"/CN={NAME}", "-addext",
         f"subjectAltName=DNS:{NAME}"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return file


@asynccontextmanager
async def proxy(behind: str, certificate: Path) -> AsyncIterator[int]:
    """What docs/reverse-proxy.md tells nginx to do: TLS, the name and the caller passed on, streams
    as they come. Gives its port."""

    async def passed(request: web.Request) -> web.StreamResponse:
        headers: Mapping[str, Any] = {
            **{k: v for k, v in request.headers.items() if k.lower() != "connection"},
            "Host": NAME,
            "X-Forwarded-For": request.remote,
            "X-Forwarded-Proto": "https",
        }
        async with (
            aiohttp.ClientSession(auto_decompress=False) as http,
            http.request(
                request.method, f"{behind.rstrip('/')}{request.path_qs}", headers=headers,
                data=BytesIO(await request.read()) if request.can_read_body else None,
                allow_redirects=False,
            ) as answer,
        ):  # fmt: skip
            response = web.StreamResponse(status=answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in ("transfer-encoding", "content-length"):
                    response.headers.add(name, value)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    app = web.Application(client_max_size=30 << 20)
    app.router.add_route("*", "/{path:.*}", passed)
    runner = web.AppRunner(app)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def nginx(behind: str, certificate: Path) -> AsyncIterator[int]:
    """The real one, set up by the example in docs/reverse-proxy.md. Gives its port."""
    program, port, folder = installed("nginx"), free_port(), certificate.parent
    server = documented(
        "nginx",
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("moot.example.org;", f"{NAME};"),
        ("/etc/ssl/moot.example.org.pem", str(certificate)),
        ("/etc/ssl/moot.example.org.key", str(certificate)),
        ("http://127.0.0.1:8377", behind.rstrip("/")),
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"daemon off;\n{user}pid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{folders}{server}\n}}\n"
    )
    words = (program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr")
    async with running_proxy(folder, port, *words):
        yield port


@asynccontextmanager
async def caddy(behind: str, certificate: Path) -> AsyncIterator[int]:
    """The same of Caddy, with our certificate in place of one that it would fetch."""
    program, port, folder = installed("caddy"), free_port(), certificate.parent
    server = documented(
        "caddy",
        (
            "moot.example.org {",
            f"https://{NAME}:{port} {{\nbind 127.0.0.1\ntls {certificate} {certificate}",
        ),
        ("127.0.0.1:8377", behind.rstrip("/").removeprefix("http://")),
    )
    (folder / "Caddyfile").write_text(f"{{\nadmin off\nauto_https disable_redirects\n}}\n{server}")
    words = (program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile")
    async with running_proxy(folder, port, *words):
        yield port


def installed(name: str) -> str:
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is not installed")
    return program


def documented(proxy: str, *changes: tuple[str, str]) -> str:
    """The example in docs/reverse-proxy.md, with what is different here."""
    page = (HOUSE / "docs/reverse-proxy.md").read_text("utf-8")
    [example] = re.findall(rf"```{proxy}\n(.*?)```", page, re.S)
    for written, here in changes:
        assert example.count(written) == 1, written
        example = example.replace(written, here)
    return str(example)


@asynccontextmanager
async def running_proxy(folder: Path, port: int, *words: str) -> AsyncIterator[None]:
    log, environment = folder / "proxy.log", {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(*words, stderr=out, env=environment)
    try:
        async with asyncio.timeout(30):
            while not await listens(port):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.05)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


@pytest.mark.parametrize("before", [proxy, nginx, caddy])
async def test_behind_a_proxy_with_a_name_and_tls(
    tmp_path: Path,
    certificate: Path,
    before: Callable[[str, Path], AbstractAsyncContextManager[int]],
) -> None:
    """A small proxy does what the page's documentation tells nginx to do; nginx and Caddy, too."""
    async with (
        service(tmp_path / "moot", CONFIG) as at,
        before(at.url, certificate) as port,
        aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(
                ssl=ssl.create_default_context(cafile=str(certificate)),
                resolver=Here(),
                local_addr=("127.0.0.7", 0),
            ),
        ) as client,
    ):
        page = f"https://{NAME}:{port}"
        own = {"Origin": f"https://{NAME}"}
        assert at.link.startswith(f"https://{NAME}/sign-in#")
        body = {"code": at.link.rpartition("#")[2], "name": "Ash"}
        async with client.post(f"{page}/api/sign-in", json=body, headers=own) as response:
            assert response.status == 200, await response.text()
            cookie = response.headers["Set-Cookie"]
        assert cookie.startswith("__Host-moot-")
        assert "Secure" in cookie
        ash = {"Cookie": cookie.partition(";")[0], **own}
        async with client.get(f"{page}/api/me/sessions", headers=ash) as response:
            [session] = (await response.json())["sessions"]
        assert session["address"] == "127.0.0.7"
        name, _, value = ash["Cookie"].removeprefix("__Host-").partition("=")
        older = {"Cookie": f"{name}={value}", **own}  # as it was named before
        async with client.get(f"{page}/", headers=older) as response:
            assert response.status == 200
            given = response.headers.getall("Set-Cookie")
        assert any(one.startswith(f"__Host-{name}={value};") for one in given)
        assert any(one.startswith(f'{name}="";') for one in given)
        planted = {"Cookie": f"{name}={value}; __Host-{name}=none", **own}
        async with client.get(f"{page}/api/me", headers=planted) as response:
            assert response.status == 401
        form = aiohttp.FormData()
        form.add_field("file", BytesIO(bytes(3 << 20)), filename="large.bin")
        async with client.post(f"{page}/api/files", data=form, headers=ash) as response:
            assert response.status == 201, await response.text()
        async with client.get(f"{page}/api/events", headers=ash) as stream:
            await stream.content.readuntil(b"\n\n")
            said = {"content": "hello", "room": "web:general"}
            async with client.post(f"{page}/api/submit", json=said, headers=ash) as response:
                assert response.status == 200, await response.text()
            told = b""
            async with asyncio.timeout(30):
                while b"hello" not in told:
                    told += await stream.content.readuntil(b"\n\n")
        evil = {**ash, "Origin": "https://evil.test"}
        async with client.post(f"{page}/api/submit", json=said, headers=evil) as response:
            assert response.status == 403
        assert session["id"] in await printed(at, "sessions")
        assert await printed(at, "sessions", "revoke", session["id"]) == "signed out"
        async with client.get(f"{page}/api/me", headers=ash) as response:
            assert response.status == 401
        async with client.get(f"{page}/healthz") as response:
            assert await response.json() == {"ok": True}


OWN = "a-token-that-an-administrator-chose"


async def guessed(at: Service, *forwarded: str) -> list[int]:
    """What wrong tokens are answered, each told to come from one of these addresses."""
    found = []
    for address in forwarded:
        header = f"X-Forwarded-For: {address}"
        found.append((await curl(at, "api/rooms", "wrong", "-H", header))[0])
    return found


async def signs_in(at: Service, token: str, forwarded: str, scheme: str = "http") -> str:
    """Sign in by a token behind a proxy; the cookie with its attributes."""
    headers = {"X-Forwarded-For": forwarded, "X-Forwarded-Proto": scheme}
    async with (
        aiohttp.ClientSession(at.url, headers=headers) as client,
        client.post("/api/sign-in", json={"token": token, "name": "Ash"}) as response,
    ):
        assert response.status == 200, await response.text()
        return response.headers["Set-Cookie"]


@pytest.mark.parametrize("trusts", ["", "[connections]\ntrusted_proxies = []\n"])
async def test_a_header_of_nobody_who_is_trusted_hides_no_guessing(
    tmp_path: Path, trusts: str
) -> None:
    named = 'public_url = "https://moot.test"\n'
    config = (CONFIG if trusts else CONFIG.replace(named, "")) + trusts
    async with service(tmp_path, config, MOOT_TOKEN=OWN) as at:
        made_up = [f"203.0.113.{number}" for number in range(20)]
        assert 429 in await guessed(at, *made_up)
        token = await printed(at, "token")  # nobody can guess it: it goes on working
        cookie = await signs_in(at, token, "203.0.113.7", "https")
        assert "Secure" not in cookie
        _, told = await curl(at, "api/page/sessions", token)
        assert [one["address"] for one in json.loads(told)["sessions"]] == ["127.0.0.1"]


async def test_behind_a_trusted_proxy_each_address_stands_for_itself(tmp_path: Path) -> None:
    async with service(tmp_path, CONFIG, MOOT_TOKEN=OWN) as at:
        token = await printed(at, "token")
        assert 429 in await guessed(at, *(f"10.0.0.{n}, 203.0.113.7" for n in range(20)))
        assert 429 in await guessed(at, *(f"2001:db8:1:2::{n}" for n in range(1, 20)))
        for other in ("198.51.100.9", "203.0.113.7, 198.51.100.10", "2001:db8:1:3::1"):
            assert "Secure" not in await signs_in(at, OWN, other)
        assert "Secure" in await signs_in(at, token, "203.0.113.7", "https")
        _, told = await curl(at, "api/page/sessions", token)
        known = {one["address"] for one in json.loads(told)["sessions"]}
        addresses = {"198.51.100.9", "198.51.100.10", "2001:db8:1:3::1", "203.0.113.7"}
        assert known == addresses
        _, told = await curl(at, "api/audit?act=sign_in", token)
        assert {row["detail"]["address"] for row in json.loads(told)["items"]} == addresses


class Here(aiohttp.abc.AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0,
                 "flags": 0}]  # fmt: skip

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_token_that_can_be_guessed_stops_the_start_beyond_this_machine(
    tmp_path: Path,
) -> None:
    at = Service(tmp_path)
    (tmp_path / "moot.toml").write_text('[gateway]\nlisten = "0.0.0.0:0"\n')
    code, _, err = await moot(at, "run", MOOT_TOKEN="a")
    assert code == 2
    assert "MOOT_TOKEN can be guessed" in err


async def test_webhooks_may_have_a_listener_of_their_own(tmp_path: Path) -> None:
    config = CONFIG.replace("[agents.demo]", 'webhooks_listen = "127.0.0.1:0"\n[agents.demo]')
    async with service(tmp_path, config) as at:
        [line] = [line for line in at.log().splitlines() if "webhooks.listening" in line]
        url = line.rpartition("http://")[2].partition("/")[0].strip('"')
        async with aiohttp.ClientSession(f"http://{url}", headers=at.headers) as client:
            for path in ("/", "/api/rooms", "/healthz", "/metrics", "/sign-in"):
                async with client.get(path) as response:
                    assert response.status == 404, path
