"""Matrix keys follow the lead: a real Synapse, encrypted rooms, machines on one database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from store.database import Store
from store.gateway_schema import bot_keys
from tests.doubles import postgres
from tests.doubles.matrix_person import NioPerson
from tests.doubles.service import Service, service
from tests.doubles.synapse import Synapse
from tests.doubles.two import made, two
from tests.test_matrix_whole import CONFIG, account
from tests.test_takeover_state_whole import command

SHARED = CONFIG[CONFIG.index("[[bots]]") :]
FILES = {"account.json", "keys.db", "recovery-key"}


def config(homeserver: Synapse) -> str:
    return SHARED.format(url=homeserver.url)


def left(moot: Service) -> set[str]:
    """The files of the bot that hold secrets."""
    return {file.name for file in (moot.folder / "data/bots/matrix").glob("*")} & FILES


async def kept(url: str) -> dict[tuple[str, str, str], Any]:
    """What the database has: by device, kind and name."""
    async with Store.open(url, read_only=True) as store:
        of_bots = select(bot_keys).where(bot_keys.c.bot != "")
        rows = await store.read(lambda c: c.execute(of_bots).all())
    return {(row.device, row.kind, row.name): row.value for row in rows}


async def secrets_of(url: str) -> list[str]:
    """Those that nobody may read in a log."""
    rows = await kept(url)
    own = json.loads(rows["", "secret", "account.json"])
    pickles = [
        json.loads(v)["pickle"]
        for (_, kind, _), v in rows.items()
        if kind != "secret" and "pickle" in json.loads(v)
    ]
    recovery = rows["", "secret", "recovery-key"].strip()
    return [own["token"], own["pickle_key"], recovery, recovery.replace(" ", ""), *pickles]


async def answered(person: NioPerson, word: str) -> dict[str, Any]:
    return await person.sees(lambda event: (event["content"] or {}).get("body") == word)


async def test_an_encrypted_room_is_answered_by_the_second_after_the_first_was_killed(
    homeserver: Synapse, tmp_path: Path
) -> None:
    bot_id, secret = account(homeserver)
    async with (
        two(tmp_path, config(homeserver), **secret) as house,
        NioPerson.open(homeserver, "cara", tmp_path) as cara,
    ):
        room = await cara.room(bot_id)
        await cara.say(room, "@demo echo word 1")
        assert (await answered(cara, "word 1"))["was_encrypted"]
        device = json.loads((await kept(house.url))["", "secret", "account.json"])["device_id"]
        await house.first.kill()
        await cara.say(room, "@demo echo word 2")  # with the key that the first was given
        await house.second.serving()
        assert (await answered(cara, "word 2"))["was_encrypted"]
        await cara.say(room, "@demo echo word 3")
        await answered(cara, "word 3")
        now = json.loads((await kept(house.url))["", "secret", "account.json"])["device_id"]
        assert now == device
        environment = "".join(f"{name}={value}\n" for name, value in secret.items())
        (house.second.folder / "moot.env").write_text(environment)
        (house.second.folder / "moot.env").chmod(0o600)
        assert "matrix: it lets Moot in" in await command(house.second, "check")
        assert left(house.first) == left(house.second) == set()
        for moot in (house.first, house.second):
            assert moot.leaks("word 2", *await secrets_of(house.url)) == []
            for line in ("Traceback", "bot.without_keys", "key.unreadable", "key.no_session"):
                assert line not in moot.log()


async def test_keys_of_a_file_are_taken_along_and_what_was_said_meanwhile_is_read(
    homeserver: Synapse, tmp_path: Path
) -> None:
    if not postgres.installed():
        pytest.skip("there is no PostgreSQL here")
    bot_id, secret = account(homeserver)
    with postgres.server() as folder:
        url = await postgres.new_database(folder)
        async with NioPerson.open(homeserver, "cara", tmp_path) as cara:
            alone = CONFIG.format(url=homeserver.url)
            async with service(tmp_path / "moot", alone, **secret) as before:
                room = await cara.room(bot_id)
                await cara.say(room, "@demo echo word 1")
                await answered(cara, "word 1")
                assert left(before) == FILES
                bots = before.folder / "data" / "bots"
                own = json.loads((bots / "matrix/account.json").read_text())
            moot = made(tmp_path / "server", config(homeserver), url, 0, secret)
            (moot.folder / "data").mkdir()
            bots.rename(moot.folder / "data" / "bots")
            await cara.say(room, "@demo echo word 2")  # with the key that it was given before
            await moot.start()
            try:
                assert (await answered(cara, "word 2"))["was_encrypted"]
                assert left(moot) == set()
                rows = await kept(url)
                assert json.loads(rows["", "secret", "account.json"]) == own
                kinds = {kind for _, kind, _ in rows}
                assert kinds >= {"account", "session", "room", "device", "secret"}
                assert moot.leaks("word 2", *await secrets_of(url)) == []
                assert "Traceback" not in moot.log()
            finally:
                await moot.stop()
