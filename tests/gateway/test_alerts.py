"""Operators are told what needs them: once, and once when it is over."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from contract.language import speaking
from gateway.alerts.alerts import Alerts, Trouble
from gateway.alerts.room import AlertRoom
from gateway.alerts.troubles import DownBots, FailedBackup, FullDisk
from gateway.alerts.webhook import Webhook
from gateway.core.clock import clock
from gateway.observability.bot_health import BotHealth
from gateway.settings.logs import AlertsTable
from tests.doubles.platform import FakeBot
from tests.doubles.running import gateway

AT = datetime(2026, 4, 21, 12, tzinfo=UTC)


class Told:
    def __init__(self) -> None:
        self.lines: list[str] = []

    async def __call__(self, line: str) -> None:
        self.lines.append(line)


async def test_each_trouble_is_told_once_and_again_when_it_comes_back() -> None:
    now: list[Trouble] = []
    at = [AT]
    told = Told()
    alerts = Alerts([lambda: now], [told], lambda: at[0])
    bot = Trouble("bot:slack", "down", "up")
    question = Trouble("question:1", "waits")
    for troubles in ([], [bot], [bot, question], [bot, question], [question], [], [bot]):
        now[:] = troubles
        at[0] += timedelta(seconds=10)
        await alerts.look()
    assert told.lines == ["⚠️ down", "⚠️ waits", "✅ up", "⚠️ down"]
    [raised] = alerts.raised
    assert (raised.trouble, raised.since) == (bot, AT + timedelta(seconds=70))


async def test_a_bot_is_down_after_a_minute_and_not_before() -> None:
    at = [AT]
    health = BotHealth(FakeBot())
    look = DownBots(AlertsTable(), {"slack": health}, lambda: at[0])
    assert [list(look()), list(look())] == [[], []]
    at[0] += timedelta(seconds=59)
    assert list(look()) == []
    at[0] += timedelta(seconds=1)
    [trouble] = look()
    assert trouble.in_words().startswith("The bot slack is down")
    assert "up again" in trouble.over


def test_a_disk_is_told_below_its_bound(tmp_path: Path) -> None:
    assert list(FullDisk(AlertsTable(disk_free_gb=0), tmp_path)()) == []
    [trouble] = FullDisk(AlertsTable(disk_free_gb=10**9), tmp_path)()
    assert f"The disk of {tmp_path} is filling" in trouble.in_words()


def test_a_backup_that_failed_is_told_until_one_is_made() -> None:
    backup = FailedBackup()
    assert list(backup()) == []
    backup.told("the disk is full of secrets")
    [trouble] = backup()
    assert "No backup could be made" in trouble.says
    assert "secrets" not in trouble.says
    backup.told("")
    assert list(backup()) == []


@pytest.fixture
async def hook() -> AsyncIterator[tuple[str, list[dict[str, str]], list[int]]]:
    """A webhook's address, what it was sent, and the statuses that it answers next."""
    sent: list[dict[str, str]] = []
    statuses: list[int] = []

    async def take(request: web.Request) -> web.Response:
        sent.append(await request.json())
        return web.Response(status=statuses.pop(0) if statuses else 200)

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    yield f"http://127.0.0.1:{port}/hook", sent, statuses
    await runner.cleanup()


async def at_once(_: float) -> None:
    return


async def test_a_webhook_gets_text_and_is_tried_again(
    hook: tuple[str, list[dict[str, str]], list[int]],
) -> None:
    url, sent, statuses = hook
    statuses += [503, 429]
    await Webhook(url, at_once)("a line")
    assert sent == [{"text": "a line"}] * 3


async def test_a_webhook_that_refuses_is_not_asked_again_and_its_address_is_told_to_nobody(
    hook: tuple[str, list[dict[str, str]], list[int]], caplog: pytest.LogCaptureFixture
) -> None:
    url, sent, statuses = hook
    statuses += [404]
    await Webhook(url, at_once)("a line")
    assert len(sent) == 1
    assert "the webhook answers 404" in caplog.text
    await Webhook("http://127.0.0.1:9/secret-path", at_once)("a line")
    assert "doesn't answer" in caplog.text
    assert "secret-path" not in caplog.text


async def test_a_room_is_told_once_by_the_bot_of_its_platform(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        house = moot.house
        room = AlertRoom(
            "fake:ops", house.bots, house.transcript, house.ledger, house.queues.start, clock
        )
        await room("The bot slack is down.")
        await moot.settle()
        assert moot.texts() == ["The bot slack is down."]


async def test_the_overview_tells_what_is_raised_in_the_readers_words(tmp_path: Path) -> None:
    alerts = AlertsTable(disk_free_gb=10**9)
    async with gateway(tmp_path, options={"alerts": alerts}) as moot:
        overview = moot.house.services.admin.overview
        assert (await overview.summary()).alerts == []
        await moot.house.alerts.look()
        with speaking("de"):
            summary = await overview.summary()
        [alert] = summary.alerts
        assert "wird voll" in alert.text
        assert alert.since <= clock()
        assert summary.alerts_told is False
        assert moot.texts() == []
