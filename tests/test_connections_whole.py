"""`moot run` under callers who send nothing, too little or too slowly: it answers all others."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import select
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import psutil
import pytest

from tests.doubles.bundle import SCRIPT
from tests.doubles.credentials import program_at
from tests.doubles.service import Service, service
from tests.doubles.slack import SlackDouble

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[connections]
most = {most}
most_of_address = {of_address}
header_s = {time_s}
body_s = {time_s}
idle_s = {time_s}
{more}
[access]
rooms = "open"
[[bots]]
platform = "slack"
personas = ["demo"]
mode = "http"
api_url = "{api_url}"
"""
MANY, MORE_THAN_PLACES = 1_100, 400
PATIENCE_S = 30
IGNORED = b'{"type":"event_callback","event":{"type":"team_join"}}'
HEAD = b"POST /slack/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"
ATTACKS = {
    "silent": b"",
    "half a request line": b"GET /heal",
    "half the headers": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b",
    "half an unsigned body": HEAD + b"\r\n" + b"{" * 2_000,
    "a chunked body without an end": (
        b"POST /slack/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"
    ),
    "idle after an answer": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """What Moot is started with is little; the attackers here have enough."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4_096:
        pytest.skip("this account may have too few files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@asynccontextmanager
async def moot_with_slack(
    folder: Path,
    *,
    most: int = 1_000,
    of_address: int = 200,
    time_s: float = 1.0,
    more: str = "",
) -> AsyncIterator[tuple[Service, SlackDouble]]:
    async with SlackDouble.open() as slack:
        config = CONFIG.format(
            most=most, of_address=of_address, time_s=time_s, more=more, api_url=slack.api_url
        )
        secrets = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
        }
        async with service(folder, config, **secrets) as moot:
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (4_096, hard))
            await until_async(lambda: takes_event(moot, slack))
            yield moot, slack


async def takes_event(moot: Service, slack: SlackDouble) -> bool:
    """True if an event that Slack signed is taken."""
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": slack.delivery.signature(stamp, IGNORED),
    }
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S)) as session,
        session.post(f"{moot.url}slack/events", data=IGNORED, headers=headers) as answer,
    ):
        return answer.status == 200


async def health(moot: Service) -> int:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S)) as session,
        session.get(f"{moot.url}healthz") as answer,
    ):
        return answer.status


async def until_async(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not (await got if asyncio.iscoroutine(got := true()) else got):
            await asyncio.sleep(0.05)


def files_of(moot: Service) -> int:
    return len(list(Path(f"/proc/{moot.pid}/fd").iterdir()))


@contextmanager
def crowd(
    moot: Service, count: int, said: bytes, address: tuple[str, int] | None = None
) -> Iterator[list[socket.socket]]:
    """Connections that said this, and then nothing."""
    page = urlsplit(moot.url)
    address = address or (str(page.hostname), int(page.port or 0))
    sockets = []
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            one = socket.create_connection(address, timeout=PATIENCE_S)
            sockets.append(stack.enter_context(one))
            with contextlib.suppress(ConnectionError):
                one.sendall(said)
        yield sockets


def stream(moot: Service, more: str = "") -> bytes:
    """A request for the events, which never end."""
    shown = "".join(f"{name}: {value}\r\n" for name, value in moot.headers.items())
    return f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n{shown}{more}\r\n".encode()


def are_ended(sockets: Sequence[socket.socket]) -> bool:
    """True if the other side ended all of them."""
    poll = select.poll()
    for one in sockets:
        poll.register(one, select.POLLRDHUP)
    ended = select.POLLRDHUP | select.POLLHUP | select.POLLERR
    return sum(bool(event & ended) for _, event in poll.poll(0)) == len(sockets)


async def test_a_crowd_of_slow_callers_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path) as (moot, slack):
        before, lines = files_of(moot), len(moot.log().splitlines())
        for said in ATTACKS.values():
            with crowd(moot, MORE_THAN_PLACES if said else MANY, said) as sockets:
                assert await takes_event(moot, slack)
                assert await health(moot) == 200
                assert files_of(moot) <= before + 250
                await until_async(partial(are_ended, sockets))
        await until_async(lambda: files_of(moot) <= before + 2)
        added = moot.log().splitlines()[lines:]
        assert len(added) <= 12, "\n".join(added[:40])
        assert any("connections.scarce" in line for line in added)


async def test_bodies_that_come_a_byte_a_second_are_ended(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path) as (moot, slack):
        with crowd(moot, 60, HEAD + b"\r\n{") as sockets:

            def drip() -> bool:
                for one in sockets:
                    with contextlib.suppress(OSError):
                        one.send(b"x")
                return are_ended(sockets)

            await until_async(drip)
            assert await takes_event(moot, slack)
        assert "Traceback" not in moot.log()
        assert "request.crashed" not in moot.log()


async def test_a_large_body_that_flows_is_taken(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path) as (moot, _):

        async def flow() -> AsyncIterator[bytes]:
            for _ in range(30):
                yield b"x" * 8_192
                await asyncio.sleep(0.1)  # three times as long as a body may take that stands

        form = aiohttp.FormData()
        form.add_field("file", flow(), filename="slow.bin")
        async with (
            program_at(moot.url) as session,
            session.post("/api/files", data=form) as answer,
        ):
            assert answer.status == 201
            assert (await answer.json())["files"][0]["size_bytes"] == 30 * 8_192


async def test_whoever_takes_no_answer_is_ended(tmp_path: Path) -> None:
    ask = f"GET {SCRIPT} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    async with moot_with_slack(tmp_path) as (moot, _):
        before = files_of(moot)
        with crowd(moot, 20, ask * 2_000):
            await until_async(lambda: files_of(moot) <= before + 2)


async def test_when_all_are_at_work_a_new_one_is_told_so_and_health_is_answered(
    tmp_path: Path,
) -> None:
    async with moot_with_slack(tmp_path, most=16, of_address=16, time_s=30) as (moot, _):
        with crowd(moot, 16, stream(moot)) as sockets:
            for one in sockets:
                assert one.recv(15) == b"HTTP/1.1 200 OK"
            async with (
                program_at(moot.url) as session,
                session.get("/api/rooms") as answer,
            ):
                assert answer.status == 503
                assert answer.headers["Retry-After"] == "5"
                assert "too many are here" in (await answer.json())["error"]["message"]
            with crowd(moot, 100, b""):
                assert await health(moot) == 200
            assert not any(one in select.select([], sockets, [], 0)[2] for one in sockets)
        await until_async(lambda: answered(moot, "/api/rooms"))


async def answered(moot: Service, path: str, headers: Mapping[str, str] | None = None) -> bool:
    async with (
        program_at(moot.url) as session,
        session.get(path, headers=headers) as answer,
    ):
        return answer.status == 200


async def test_without_files_nothing_floods_the_log_and_callers_come_back(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path) as (moot, slack):
        lines = len(moot.log().splitlines())
        limit = resource.prlimit(moot.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(moot.pid, resource.RLIMIT_NOFILE, (files_of(moot) + 8, limit[1]))
        with crowd(moot, 60, b""):
            await until_async(lambda: "connections.impossible" in moot.log())
        resource.prlimit(moot.pid, resource.RLIMIT_NOFILE, limit)
        await until_async(lambda: takes_event(moot, slack))
        assert await health(moot) == 200
        added = moot.log().splitlines()[lines:]
        assert len(added) <= 4, "\n".join(added[:40])
        assert "Traceback" not in moot.log()


async def test_moot_has_more_files_and_an_agent_as_many_as_moot_was_given(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path) as (moot, _):
        assert resource.prlimit(moot.pid, resource.RLIMIT_NOFILE)[0] > 1_024
        async with (
            program_at(moot.url) as session,
            session.post(
                "/api/submit",
                json={
                    "content": "@demo hello",
                    "metadata": {
                        "source": "web",
                        "sender_id": "web:andi",
                        "sender_display_name": "Andi",
                        "sender_type": "human",
                    },
                    "room": "web:general",
                    "message_id": "m1",
                    "wait": True,
                },
            ) as answer,
        ):
            assert answer.status == 200, await answer.text()
        agents = children(moot.pid)
        assert agents
        for pid in agents:
            assert resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == 1_024


async def test_the_hooks_listener_ends_slow_callers_too(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path, most=64) as (moot, _):
        before = files_of(moot)
        hooks = hooks_address(moot)
        for said in (b"", b"POST /hook/x HTT", b"POST /hook/x HTTP/1.1\r\nHost: x\r\n"):
            with crowd(moot, 200, said, address=hooks) as sockets:
                await until_async(partial(are_ended, sockets))
        await until_async(lambda: files_of(moot) <= before + 2)
        assert "Traceback" not in moot.log()


def hooks_address(moot: Service) -> tuple[str, int]:
    """Where the programs' hooks are listened to: the other address of the process."""
    page = urlsplit(moot.url).port
    taken = psutil.Process(moot.pid).net_connections("tcp")
    (port,) = {one.laddr.port for one in taken if one.status == "LISTEN"} - {page}
    return ("127.0.0.1", port)


async def test_what_is_no_http_is_answered_and_leaves_no_traceback(tmp_path: Path) -> None:
    garbage = (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nA" + b"b" * 9_000 + b": c\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100 + b"\r\n",
        b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /slack/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    )
    async with moot_with_slack(tmp_path) as (moot, _):
        lines = len(moot.log().splitlines())
        for said in garbage:
            with crowd(moot, 5, said) as sockets:
                for one in sockets:
                    assert one.recv(100).split(b" ")[1] == b"400", said[:40]
        assert moot.log().splitlines()[lines:] == []


async def test_a_person_has_so_many_streams_and_uploads_at_once(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path, more="most_of_person = 4") as (moot, _):
        with crowd(moot, 4, stream(moot)) as sockets:
            for one in sockets:
                assert one.recv(15) == b"HTTP/1.1 200 OK"
            async with program_at(moot.url) as session:
                async with session.get("/api/events") as answer:
                    assert answer.status == 429
                    assert "4 streams and uploads" in (await answer.json())["error"]["message"]
                form = aiohttp.FormData()
                form.add_field("file", b"x", filename="a.txt")
                async with session.post("/api/files", data=form) as answer:
                    assert answer.status == 429
            assert await answered(moot, "/api/rooms")
        await until_async(lambda: answered(moot, "/api/events"))


async def test_parts_that_are_no_files_end_an_upload_at_the_first(tmp_path: Path) -> None:
    async with moot_with_slack(tmp_path) as (moot, _):
        part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        async with (
            program_at(moot.url) as session,
            session.post("/api/files", data=BytesIO(part * 50_000), headers=kind) as answer,
        ):
            assert answer.status == 400
            said = (await answer.json())["error"]["message"]
            assert said == "file: every part is a file, and has a filename"


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_trusted_proxys_callers_are_counted_by_the_address_that_it_adds(
    tmp_path: Path, trusted: bool
) -> None:
    proxies = 'trusted_proxies = ["127.0.0.1"]' if trusted else ""
    async with moot_with_slack(tmp_path, of_address=8, time_s=30, more=proxies) as (moot, _):

        async def asks(forwarded: str) -> int:
            async with (
                program_at(moot.url) as session,
                session.get("/api/rooms", headers={"X-Forwarded-For": forwarded}) as answer,
            ):
                return answer.status

        opened = stream(moot, "X-Forwarded-For: 10.9.9.9, 203.0.113.7\r\n")
        with crowd(moot, 8, opened) as sockets:
            for one in sockets:
                assert one.recv(15) == b"HTTP/1.1 200 OK"
            assert await asks("203.0.113.7") == 503
            assert await asks("198.51.100.1, 203.0.113.7") == 503
            assert await asks("198.51.100.1") == (200 if trusted else 503)


def children(pid: int) -> list[int]:
    below = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for tasks in below for word in tasks.read_text().split()]
