"""What bots must not forget over a restart: rows of the database, for whichever gateway leads.

Their logins and keys are among them where the database is a server. With SQLite one machine is all
there is, and they stay in files beside it. Other commands of Moot open the database for the moment
in which they look.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, bindparam, delete, select

from bots.kit.cursor import KeyName, read_file
from contract.errors import ConfigError
from store.database import Store, insert_of
from store.gateway_schema import bot_keys, bot_states

log = structlog.stdlib.get_logger("moot.app")

MOVED = ".moved"
"""Added to the name of a file whose value is in the database."""

_C = bot_states.c
_READ = select(_C.value).where(_C.bot == bindparam("of"), _C.name == bindparam("named"))

SOON_S = 0.05  # whoever saves one waits for it
GATEWAY = ""  # the bot of what is no bot's state
OWN, SECRET = "", "secret"  # the device, and the kind, of what is no device's key

_K = bot_keys.c
_OF_DEVICE = select(_K.kind, _K.name, _K.value).where(
    _K.bot == bindparam("of"), _K.device == bindparam("by")
)
_GONE = delete(bot_keys).where(
    _K.bot == bindparam("of"),
    _K.device == bindparam("by"),
    _K.kind == bindparam("is"),
    _K.name == bindparam("named"),
)


class BotStates:
    """Those of every bot. folder: where earlier versions left files, a folder for each bot. keys:
    their logins and keys; None: these are in files of this machine."""

    def __init__(self, folder: Path, keys: BotKeys | None = None) -> None:
        self._folder = folder
        self.keys = keys
        self._store: Store | None = None
        self.put: Any = None  # the statement that writes one

    def open(self, store: Store) -> None:
        """From now on they can be read; bots are made before there is a database."""
        self._store = store
        if self.keys is not None:
            self.keys.open(store)
        new = insert_of(store)(bot_states)
        self.put = new.on_conflict_do_update(
            index_elements=[_C.bot, _C.name], set_={"value": new.excluded.value}
        )

    @property
    def store(self) -> Store:
        """The database. Raises ConfigError."""
        if self._store is None:
            raise ConfigError("a bot's state is read before there is a database")
        return self._store

    def of(self, bot: str) -> BotState:
        """Those of one bot."""
        return BotState(self, bot, self._folder / bot)


class BotState:
    """See bots/kit/cursor.py, `States`."""

    def __init__(self, states: BotStates, bot: str, folder: Path) -> None:
        self._states, self._bot, self._folder = states, bot, folder
        self._files: dict[str, Path] = {}  # whose values are to be moved

    async def read(self, name: str) -> str | None:
        given = {"of": self._bot, "named": name}
        found = await self._states.store.read(lambda c: c.execute(_READ, given).scalar())
        return None if found is None else str(found)

    async def write(self, name: str, value: str) -> None:
        """In the next commit that is made anyhow, or soon in one of its own."""
        store = self._states.store
        if (trouble := store.health.trouble) is not None:
            raise trouble
        row = {"bot": self._bot, "name": name, "value": value}
        await store.write_later(methodcaller("execute", self._states.put, row), within_s=SOON_S)
        if (file := self._files.pop(name, None)) is not None:
            await asyncio.to_thread(file.replace, file.with_name(file.name + MOVED))
            log.info("bot.state_moved", bot=self._bot, file=file)

    async def left_in_file(self, name: str) -> str | None:
        file = self._folder / f"{name}.json"
        try:
            text = await asyncio.to_thread(file.read_text, encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file} can't be read ({type(error).__name__})") from None
        self._files[name] = file
        return text


class BotKeys:
    """Those of every bot. url: the database's. folder: where earlier versions left files, a folder
    for each bot."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._store: Store | None = None

    def open(self, store: Store) -> None:
        """From now on they are in this one, which is open."""
        self._store = store

    def of(self, bot: str) -> DatabaseSecrets:
        """Those of one bot."""
        return DatabaseSecrets(self, bot, self._folder / bot)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        """The database. Raises ConfigError."""
        if self._store is not None:
            yield self._store
            return
        async with Store.open(self._url) as store:
            yield store


class DatabaseSecrets:
    """See bots/kit/cursor.py, `KeptSecrets` and `KeyRows`."""

    def __init__(self, keys: BotKeys, bot: str, folder: Path) -> None:
        self._keys, self._bot, self._folder = keys, bot, folder

    @property
    def rows(self) -> DatabaseSecrets:
        return self

    async def read(self, name: str) -> str | None:
        """A file of an earlier version is taken along, when there is no row yet."""
        found = {of: value for (_, of), value in await self.load(OWN)}
        if name in found:
            return found[name]
        file = self._folder / name
        if (left := await asyncio.to_thread(read_file, file)) is not None:
            await self.write(name, left)
            await asyncio.to_thread(file.replace, file.with_name(file.name + MOVED))
            log.info("bot.state_moved", bot=self._bot, file=file)
        return left

    async def write(self, name: str, value: str) -> None:
        await self.save(OWN, {(SECRET, name): value})

    async def load(self, device: str) -> Sequence[tuple[KeyName, str]]:
        given = {"of": self._bot, "by": device}
        async with self._keys.opened() as store:
            rows = await store.read(lambda c: c.execute(_OF_DEVICE, given).all())
        return [((row.kind, row.name), row.value) for row in rows]

    async def save(self, device: str, rows: Mapping[KeyName, str | None]) -> None:
        there = {"bot": self._bot, "device": device}
        put = [
            {**there, "kind": kind, "name": name, "value": value}
            for (kind, name), value in rows.items()
            if value is not None
        ]
        gone = [
            {"of": self._bot, "by": device, "is": kind, "named": name}
            for (kind, name), value in rows.items()
            if value is None
        ]
        async with self._keys.opened() as store:
            new = insert_of(store)(bot_keys)
            upsert = new.on_conflict_do_update(
                index_elements=list(bot_keys.primary_key), set_={"value": new.excluded.value}
            )

            def work(connection: Connection) -> None:
                if put:
                    connection.execute(upsert, put)
                if gone:
                    connection.execute(_GONE, gone)

            await store.write(work)
