"""The webhook: who may call it, what it takes, and its entry in the server's list."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from bots.bluebubbles.connection import EVENTS
from bots.kit.webhook import address, is_out_of_reach
from contract.errors import ConfigError
from tests.doubles.bluebubbles import BlueBubblesDouble
from tests.doubles.bluebubbles_stage import at_work, make_bot
from tests.doubles.inbox import Inbox


@pytest.fixture
async def server() -> AsyncIterator[BlueBubblesDouble]:
    async with BlueBubblesDouble.open() as double:
        yield double


async def test_the_secret_lies_where_nobody_else_reads_it_and_stays(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    async with at_work(server, tmp_path, Inbox()):
        first = URL(server.webhooks[0]["url"])
    secret = tmp_path / "own" / "webhook_secret"
    assert first.path == f"/bluebubbles/bluebubbles/{secret.read_text()}"
    assert len(secret.read_text()) >= 40
    assert secret.stat().st_mode & 0o777 == 0o600
    async with at_work(server, tmp_path, Inbox()):
        assert URL(server.webhooks[-1]["url"]).path == first.path


class Secrets:
    """Secrets that lie in memory."""

    rows = None

    def __init__(self, **values: str) -> None:
        self.values = values

    async def read(self, name: str) -> str | None:
        return self.values.get(name)

    async def write(self, name: str, value: str) -> None:
        self.values[name] = value


@pytest.mark.parametrize("before", [{}, {"webhook_secret": "one-that-was-kept\n"}])
async def test_the_secret_is_kept_where_the_bots_secrets_are(
    server: BlueBubblesDouble, tmp_path: Path, before: dict[str, str]
) -> None:
    kept = Secrets(**before)
    async with at_work(server, tmp_path, Inbox(), kept_secrets=kept):
        secret = URL(server.webhooks[-1]["url"]).name
    assert secret == kept.values["webhook_secret"].strip()
    assert list(tmp_path.rglob("webhook_secret")) == []


async def test_what_is_kept_and_is_no_secret_lets_nobody_in(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    bot = make_bot(server, tmp_path, kept_secrets=Secrets(webhook_secret=""))
    with pytest.raises(ConfigError, match="its webhook_secret is no secret: delete it"):
        await bot.run(Inbox().receive)


async def test_who_does_not_know_the_secret_finds_nothing(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    inbox = Inbox()
    async with at_work(server, tmp_path, inbox), aiohttp.ClientSession() as client:
        url = URL(server.webhooks[0]["url"])
        for wrong in ("x", "%F0%9F%98%80", url.name[:-1], url.name.swapcase()):
            async with client.post(url.with_name("x").parent / wrong, data=b"{") as answer:
                assert answer.status == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[1]", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"type": "new-message"}', 400),
        (b'{"type": "new-message", "data": {"guid": 7, "text": ["secret words"]}}', 400),
        (b'{"type": "new-message", "data": {"guid": "x", "text": "secret words"}}', 400),
        (b'{"type": "typing-indicator", "data": {"display": true}}', 200),
        (b'{"type": "hello-world"}', 200),
        (b"x" * 1_000_001, 413),
    ],
)
async def test_what_is_no_event_is_refused_and_its_text_is_in_no_log(
    server: BlueBubblesDouble,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    body: bytes,
    status: int,
) -> None:
    inbox = Inbox()
    async with at_work(server, tmp_path, inbox), aiohttp.ClientSession() as client:
        async with client.post(server.webhooks[0]["url"], data=body) as answer:
            assert answer.status == status
        await server.say("still here")
        await inbox.kept(1)
    assert "secret words" not in caplog.text
    assert "Traceback" not in caplog.text


async def test_it_is_registered_once_and_earlier_ones_of_ours_go(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    foreign = {"id": 1, "url": "http://10.0.0.1/hook", "events": ["*"]}
    server.webhooks.append(foreign)
    async with at_work(server, tmp_path, Inbox(), secret="a" * 32, webhook_url="http://m.test:1"):
        pass
    assert server.webhooks[1]["url"] == f"http://m.test:1/bluebubbles/bluebubbles/{'a' * 32}"
    assert set(server.webhooks[1]["events"]) == set(EVENTS)
    moved: dict[str, Any] = {"secret": "b" * 32, "webhook_url": "http://n.test"}
    for _ in range(2):
        server.calls.clear()
        async with at_work(server, tmp_path, Inbox(), **moved):
            pass
        assert [hook["url"] for hook in server.webhooks] == [
            foreign["url"],
            f"http://n.test/bluebubbles/bluebubbles/{'b' * 32}",
        ]


async def test_one_that_tells_too_little_is_made_anew(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    url = f"http://m.test/bluebubbles/bluebubbles/{'a' * 32}"
    server.webhooks.append({"id": 4, "url": url, "events": ["typing-indicator"]})
    async with at_work(server, tmp_path, Inbox(), secret="a" * 32, webhook_url="http://m.test"):
        pass
    assert [(hook["url"], set(hook["events"])) for hook in server.webhooks] == [(url, set(EVENTS))]


def test_a_secret_that_does_not_fit_an_address_is_refused(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="BLUEBUBBLES_SECRET"):
        make_bot(server, tmp_path, secret="too/short")


def test_our_address_is_the_one_on_the_way_to_the_server() -> None:
    here = URL("http://127.0.0.1:1234")
    assert address("127.0.0.1", 8377, here) == "http://127.0.0.1:8377"
    assert address("0.0.0.0", 8377, here) == "http://127.0.0.1:8377"
    assert address("[::1]", 8377, here) == "http://[::1]:8377"
    assert address("127.0.0.1", 0, here) is None
    there = URL("http://10.0.0.5:1234")
    assert is_out_of_reach("http://127.0.0.1:8377", there)
    assert not is_out_of_reach("http://10.0.0.9:8377", there)
    assert not is_out_of_reach("http://localhost:8377", here)


async def test_check_tells_what_is_missing_and_changes_nothing(
    server: BlueBubblesDouble, tmp_path: Path
) -> None:
    bot = make_bot(server, tmp_path, listen_port=8377)
    private_api, webhook = await bot.check()
    assert "private API is off" in private_api
    assert "`moot run`" in webhook
    server.private_api = True
    assert "helper" in (await bot.check())[0]
    server.helper_connected = True
    server.webhooks.append(
        {"id": 1, "url": "http://127.0.0.1:8377/bluebubbles/bluebubbles/x", "events": []}
    )
    assert await bot.check() == []
    assert {call.verb for call in server.calls} == {"GET"}
    with pytest.raises(ConfigError, match="BLUEBUBBLES_PASSWORD"):
        await make_bot(server, tmp_path, password="wrong").check()
