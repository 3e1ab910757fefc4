"""What bots must not forget over a restart: rows of the database, for whichever gateway leads."""

from __future__ import annotations

import asyncio
from operator import methodcaller
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import bindparam, select

from contract.errors import ConfigError
from store.database import Store, insert_of
from store.gateway_schema import bot_states

log = structlog.stdlib.get_logger("moot.app")

MOVED = ".moved"
"""Added to the name of a file whose value is in the database."""

_C = bot_states.c
_READ = select(_C.value).where(_C.bot == bindparam("of"), _C.name == bindparam("named"))


class BotStates:
    """Those of every bot. folder: where earlier versions left files, a folder for each bot."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store: Store | None = None
        self.put: Any = None  # the statement that writes one

    def open(self, store: Store) -> None:
        """From now on they can be read; bots are made before there is a database."""
        self._store = store
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
        await store.write_later(methodcaller("execute", self._states.put, row))
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
