"""What follows the lead to another machine: the second gateway goes on where the first was."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import Connection, create_engine, delete, inspect, select, text

from store.database import Store
from store.gateway_schema import bot_states, metadata
from store.versions import HEAD
from tests.doubles import postgres
from tests.doubles.rocketchat import CLAUDE, DM, RocketChatDouble
from tests.doubles.service import Service, service
from tests.doubles.two import made, two
from tests.store.test_upgrading import brought_to
from tests.test_commands import moot
from tests.test_rocketchat_whole import SECRETS, answered, answers

CONFIG = """
[access]
rooms = "open"
dms = "open"
[[bots]]
platform = "rocketchat"
personas = ["demo"]
url = "{url}"
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""


async def state(url: str, name: str = "cursor") -> str:
    """The value that the bot keeps, once there is one."""
    query = select(bot_states.c.value).where(bot_states.c.name == name)
    async with Store.open(url, read_only=True) as store, asyncio.timeout(20):
        while True:
            if (found := await store.read(lambda c: c.execute(query).scalar())) is not None:
                return str(found)
            await asyncio.sleep(0.1)


async def test_what_was_said_while_nobody_led_is_answered_once_by_the_next(
    tmp_path: Path,
) -> None:
    async with (
        RocketChatDouble.open() as rocketchat,
        two(tmp_path, CONFIG.format(url=rocketchat.base), **SECRETS) as house,
    ):
        await rocketchat.sockets.listening(CLAUDE)
        rocketchat.say("@claude echo word 1")
        await answered(rocketchat, {"word 1"})
        await state(house.url)
        await house.first.kill()
        rocketchat.say("@claude echo word 2")  # no gateway is there to hear it
        rocketchat.say("echo word 3", rid=DM)
        await house.second.serving()
        await answered(rocketchat, {"word 1", "word 2", "word 3"})
        rocketchat.say("@claude echo word 4")
        await answered(rocketchat, {f"word {n}" for n in (1, 2, 3, 4)})
        assert answers(rocketchat) == Counter({f"word {n}": 1 for n in (1, 2, 3, 4)})
        assert "Traceback" not in house.second.log()
        assert not list(house.second.folder.glob("data/bots/*/*.json"))
        for one in (house.first, house.second):  # the first one's file is older than the log
            told = await asyncio.to_thread(moot, "audit", "verify", cwd=one.folder)
            assert "the audit log is whole" in told.stdout


async def test_a_cursor_that_an_earlier_version_left_in_a_file_is_moved(tmp_path: Path) -> None:
    gateway = '[gateway]\nlisten = "127.0.0.1:0"\ndata_dir = "data"\n'
    async with RocketChatDouble.open() as rocketchat:
        config = gateway + CONFIG.format(url=rocketchat.base)
        url = f"sqlite:///{tmp_path}/data/moot.db"
        async with service(tmp_path, config, **SECRETS):
            await rocketchat.sockets.listening(CLAUDE)
        async with Store.open(url) as store:
            left = await store.read(lambda c: c.execute(select(bot_states.c.value)).scalar_one())
            await store.write(lambda c: c.execute(delete(bot_states)))
        file = tmp_path / "data" / "bots" / "rocketchat" / "cursor.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(left, encoding="utf-8")
        rocketchat.say("@claude echo word 1")  # while it is updated
        after = Service(tmp_path, dict(SECRETS))
        await after.start()
        try:
            await answered(rocketchat, {"word 1"})
        finally:
            await after.stop()
        assert "bot.state_moved" in after.log()
        assert [path.name for path in file.parent.glob("cursor*")] == ["cursor.json.moved"]
        assert '"since"' in await state(url)


async def version(url: str, change: str = "") -> str:
    """That of the tables. change: made to them first."""
    async with Store.open(url) as store:
        return await store.write(partial(_version, change=change))


def _version(connection: Connection, change: str) -> str:
    for statement in filter(None, change.split(";")):
        connection.execute(text(statement))
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())


def undone(until: str) -> str:
    """Statements that take out of the tables what came after a version."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        brought_to(connection, until)
        found = inspect(connection)
        were = {
            name: {str(column["name"]) for column in found.get_columns(name)}
            for name in found.get_table_names()
        }
    engine.dispose()
    gone = [f"DROP TABLE {name}" for name in metadata.tables if name not in were]
    for name, columns in were.items():
        now = metadata.tables[name].columns.keys() if name in metadata.tables else ()
        gone += [f"ALTER TABLE {name} DROP {one}" for one in now if one not in columns]
    return ";".join([*gone, f"UPDATE alembic_version SET version_num = '{until}'"])


async def test_a_newer_version_does_not_change_the_tables_under_one_that_leads(
    tmp_path: Path,
) -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    with postgres.server() as server:
        url = await postgres.new_database(server)
        older = made(tmp_path / "older", "", url, 0, {})
        newer = made(tmp_path / "newer", "", url, 0, {})
        await older.start()
        try:
            assert await version(url, undone("0020")) == "0020"
            await newer.begin()
            assert await newer.ended() == 2
            assert f":{older.pid}:" in newer.log()
            assert "leads on it and knows no later version: stop that one" in newer.log()
            async with aiohttp.ClientSession() as client, client.get(older.url + "healthz") as well:
                assert well.status == 200
            await older.kill()
            await newer.start()  # it looks whether that one is gone, by itself
            assert await version(url) == HEAD
        finally:
            await newer.stop()
            await older.stop()
