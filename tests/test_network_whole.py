"""`moot run` with `network = "none"`: an agent reaches the hosts that it may, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.profiles.claude_code import CLAUDE_CODE
from tests.doubles.cells import bwrap
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import ToolUse
from tests.doubles.obedience import furnish, say
from tests.doubles.service import HOUSE, Service, service

CLAUDE = HOUSE / "tests" / "agents" / "node_modules" / ".bin" / "claude"
ASK = (
    "python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read())'"
)


@asynccontextmanager
async def host(words: str) -> AsyncIterator[int]:
    """A web server on loopback that says one thing; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        body = f"{words} {head.split()[1]}"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]


async def told(moot: Service, command: str) -> str:
    """The answer to a command, without the marks of bytes."""
    answer = await say(moot.url, "ana", f"please <<{command}>>")
    return str(answer["replies"][0]["text"])


def closed(folder: Path, *hosts: str) -> str:
    """A moot.toml with an obedient agent in a sandbox without a network."""
    bwrap()
    config = furnish(folder, "on")
    return f'[sandbox]\nnetwork = "none"\nhosts = {json.dumps(hosts)}\n{config}'


SPEAK = (
    "python3 -c 'import os, socket, sys, urllib.parse as u; "
    's = socket.create_connection(("127.0.0.1", u.urlsplit(os.environ["HTTP_PROXY"]).port), 20); '
    's.sendall(sys.argv[1].encode().decode("unicode_escape").encode()); '
    "print(s.makefile().readline())'"
)


async def test_no_name_and_no_odd_request_leads_elsewhere(tmp_path: Path) -> None:
    async with host("welcome") as mine, host("secret") as other:
        name = "127.1"  # which every machine takes for its own loopback
        config = closed(tmp_path, f"{name}:{other}", f"127.0.0.1:{mine}")
        async with service(tmp_path, config) as moot:
            by_proxy = f"NO_PROXY= no_proxy= {ASK}"
            assert "403" in await told(moot, f"{by_proxy} http://{name}:{other}/")
            for head, status in {
                f"CONNECT {name}:{other} HTTP/1.1": "403",
                f"CONNECT 127.0.0.1:{other} HTTP/1.1": "403",
                f"CONNECT 127.0.0.1:{mine}@127.0.0.1:{other} HTTP/1.1": "HTTP/1.1 40",
                f"GET http://127.0.0.1:{mine}@127.0.0.1:{other}/ HTTP/1.1": "HTTP/1.1 40",
                f"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{mine}": "403",
                f"GET http://127.0.0.1:{mine}/ HTTP/1.1\\r\\nHost : evil": "400",
                f"GET http://127.0.0.1:{mine}/ HTTP/1.1\\r\\nA: b\\nHost: evil": "400",
                f"GET http://127.0.0.1:{mine}/ HTTP/1.1\\r\\nA: b\\r\\n Host: evil": "400",
                f"GET http://127.0.0.1:{mine}/ x HTTP/1.1": "400",
                f"GET http://127.0.0.1:{mine}/ HTTP/1.1": "200",
            }.items():
                said = await told(moot, f'{SPEAK} "{head}\\r\\n\\r\\n"')
                assert status in said, (head, said)


async def test_only_hosts_that_an_administrator_named_are_reached(tmp_path: Path) -> None:
    async with host("welcome") as mine, host("secret") as other:
        config = closed(tmp_path, f"127.0.0.1:{mine}", "*.example.invalid")
        async with service(tmp_path, config) as moot:
            assert "welcome /a?b=c" in await told(moot, f"{ASK} http://127.0.0.1:{mine}/a?b=c")
            direct = await told(moot, f"{ASK} http://127.0.0.1:{other}/")
            assert "Connection refused" in direct
            memory = await told(
                moot, "curl -s -d {} -H Content-Type:application/json $MOOT_MEMORY_URL"
            )
            assert memory == '{"message": null}'
            by_proxy = f"NO_PROXY= no_proxy= {ASK}"
            assert "welcome /" in await told(moot, f"{by_proxy} http://127.0.0.1:{mine}/")
            for url in (
                f"http://127.0.0.1:{other}/",
                f"http://localhost:{other}/",
                f"http://2130706433:{mine}/",
                "http://169.254.169.254/latest/meta-data/",
                "https://169.254.169.254/",
                "https://example.invalid/",
                moot.url,
            ):
                assert "403" in await told(moot, f"{by_proxy} {url}"), url
            reached = await told(moot, f"{by_proxy} https://api.example.invalid/")
            assert "502" in reached  # it may be asked for; there is none
            assert moot.log().count("sandbox.host_refused") >= 4
            again = moot.log().count("169.254.169.254")
            await told(moot, f"{by_proxy} http://169.254.169.254/ || true")
            assert moot.log().count("169.254.169.254") == again


async def test_no_socket_leads_out(tmp_path: Path) -> None:
    name = f"\0moot-test-{tmp_path.name}-{id(tmp_path)}"
    served: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append("somebody")
        writer.close()

    async with await asyncio.start_unix_server(serve, name):
        config = closed(tmp_path)
        async with service(tmp_path, config) as moot:
            connect = (
                "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); "
                f's.connect(bytes.fromhex("{name.encode().hex()}")); print("in")\''
            )
            assert "Connection refused" in await told(moot, connect)
            raw = (
                "python3 -c 'import socket; s = socket.socket(); s.settimeout(9); "
                's.connect(("169.254.169.254", 80)); print("in")\''
            )
            assert "unreachable" in await told(moot, raw)
            assert await told(moot, "cat /proc/net/route | wc -l") == "1"
    assert served == []


async def test_no_socket_of_another_kind_can_be_made(tmp_path: Path) -> None:
    async with service(tmp_path, closed(tmp_path)) as moot:
        make = "python3 -c 'import socket as s; print(s.socket({}))' 2>&1 | tail -1"
        for family in (40, 38, 17):  # AF_VSOCK, which no namespace holds, AF_ALG, AF_PACKET
            said = await told(moot, make.format(f"{family}, 1"))
            assert "Address family not supported" in said
        for name in ("s.AF_INET", "s.AF_INET6", "s.AF_UNIX", "s.AF_NETLINK, 3"):
            assert "socket.socket fd=" in await told(moot, make.format(name))


async def test_the_host_that_is_asked_for_is_the_one_that_is_allowed(tmp_path: Path) -> None:
    heads: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        mine = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with service(tmp_path, closed(tmp_path, mine)) as moot:
            curl = f"NO_PROXY= no_proxy= curl -s -H Host:other.example http://{mine}/"
            assert await told(moot, curl) == "ok"
    assert f"\r\nHost: {mine}\r\n" in heads[0]
    assert "other.example" not in heads[0]


async def test_a_relay_ends_with_its_session(tmp_path: Path) -> None:
    async with host("welcome") as mine:
        config = closed(tmp_path, f"127.0.0.1:{mine}")
        (tmp_path / "tmp").mkdir()
        async with service(tmp_path, config, TMPDIR=str(tmp_path / "tmp")) as moot:
            assert "welcome" in await told(moot, f"{ASK} http://127.0.0.1:{mine}/")
            assert list((tmp_path / "tmp").glob("moot-relay-*/socket"))
        assert not list((tmp_path / "tmp").glob("moot-relay-*"))


CLAUDE_CONFIG = """
[gateway]
listen = "127.0.0.1:0"
[sandbox]
mode = "on"
network = "none"
[agents.claude-code]
profile = "claude-code"
command = ["{claude}", "--allowed-tools=Bash"]
env = {{ ANTHROPIC_BASE_URL = "{api}", CLAUDE_CODE_MAX_RETRIES = "1" }}
[access]
dms = "open"
"""


async def test_claude_code_works_with_its_api_and_hooks_alone(tmp_path: Path) -> None:
    bwrap()
    if not CLAUDE.exists():
        pytest.skip(f"{CLAUDE_CODE.title} is not installed in tests/agents")
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "ash.md").write_text("---\nagent: claude-code\n---\nYou help.\n")
    async with MessagesAPI.open() as api, host("secret") as other:
        config = CLAUDE_CONFIG.format(claude=CLAUDE, api=api.url)
        key = "sk-ant-test-00000000000000000000000000000000"
        async with service(tmp_path, config, ANTHROPIC_API_KEY=key) as moot:
            curl = f"curl -s -m 9 http://127.0.0.1:{other}/ || echo not reached"
            api.when("fetch it", ToolUse("Bash", {"command": curl}), "I tried.")
            answer = await say(moot.url, "ana", "fetch it please")
            assert answer["replies"][0]["text"] == "I tried."
            given = str(api.turns[-1].body["messages"])
            assert "not reached" in given
            assert "secret" not in given


async def test_a_host_that_is_none_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    config = closed(tmp_path, "https://api.example.org/v1")
    with pytest.raises(AssertionError, match=r"is no host, e\.g\. api\.example\.org"):
        async with service(tmp_path, config):
            pass
