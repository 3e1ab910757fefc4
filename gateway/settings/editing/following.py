"""The roles of moot.toml follow the lead: each machine has a file, and all know one database.

The database has the table that holds. A change on the page is put into it at once, one by hand at
the next start, by the machine that leads. Everywhere else it is taken from there, also into the
file; where that can't be written, it holds all the same.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from pydantic import ValidationError
from pydantic_core import to_json

from bots.kit.cursor import States
from contract.errors import ConfigError
from contract.refusals import why
from gateway.settings.access import AccessTable
from gateway.settings.editing.agreeing import agreed_in, judge, note_agreed
from gateway.settings.editing.files import read, with_copy, write_all
from gateway.settings.editing.merging import changed
from gateway.settings.personas.files import text_mark

if TYPE_CHECKING:
    from gateway.access.access import Access

log = structlog.stdlib.get_logger("moot.access")

AGREED = "access.json"  # in the data directory
_NAME = "access"


class AccessFollower:
    """Brings [access] here and in the database together. Nothing is put into the database where
    another gateway leads."""

    def __init__(
        self, access: Access, states: States, *, leads: bool, file: Path, data_dir: Path
    ) -> None:
        """states: the gateway's own in the database. file: moot.toml, which need not be there."""
        self._access = access
        self._states = states
        self._leads = leads
        self._file = file
        self._agreed = data_dir / AGREED
        self._told = ""

    async def follow(self) -> None:
        """Look once. Raises StoreRefusal."""
        try:
            text = await self._states.read(_NAME)
            await self._follow(text, AccessTable.model_validate_json(text) if text else None)
        except ConfigError as error:
            self._tell(error.say)
        except OSError as error:
            self._tell(why(error))
        except ValidationError as error:
            self._tell(f"[access]: {error.errors()[0]['msg']}")
        except tomllib.TOMLDecodeError as error:
            self._tell(f"it can't be read as TOML: {error}")

    async def _follow(self, theirs: str | None, held: AccessTable | None) -> None:
        """held: theirs as a table, which holds also beside a file that can't be read."""
        try:
            now, agreed, table = await asyncio.to_thread(self._look)
        except (ConfigError, ValueError):
            if held is not None:
                self._take(held)
            raise
        ours, before = written(table), table
        holds = judge(text_mark(ours), agreed, theirs and text_mark(theirs))
        if holds == "ours":
            if not self._leads:  # it counts from when this one does
                return
            await self._states.write(_NAME, ours)
        elif theirs is not None and held is not None:
            table, ours = held, theirs
        self._take(table)
        if text_mark(ours) == agreed:
            return
        if holds == "theirs":
            await asyncio.to_thread(self._write, now, _values(_plain(before), _plain(table)))
            log.info("access.followed", file=str(self._file))
        await asyncio.to_thread(note_agreed, self._agreed, {_NAME: text_mark(ours)})

    def _take(self, table: AccessTable) -> None:
        if table != self._access.table:
            self._access.take(table)

    def _look(self) -> tuple[str | None, str | None, AccessTable]:
        """The file, the form agreed on, and the file's table. Raises ConfigError, OSError,
        ValueError."""
        text = read(self._file)
        table = AccessTable.model_validate(tomllib.loads(text or "").get(_NAME, {}))
        return text, agreed_in(self._agreed).get(_NAME), table

    def _write(self, now: str | None, values: Mapping[str, Any]) -> None:
        write_all(with_copy(self._file, changed(now, {_NAME: values}), now))

    def _tell(self, reason: str) -> None:
        """Once each."""
        if reason != self._told:
            self._told = reason
            log.warning("access.not_followed", file=str(self._file), reason=reason)


def written(table: AccessTable) -> str:
    """A table in one form, whatever the order in which its people stand."""
    return to_json(_plain(table)).decode()


def _plain(table: AccessTable) -> dict[str, Any]:
    return {
        key: _sorted(value)
        for key, value in sorted(table.model_dump(mode="json", exclude_defaults=True).items())
    }


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(one) for key, one in sorted(value.items())}
    if isinstance(value, list):
        texts = all(isinstance(one, str) for one in value)
        return sorted(value) if texts else [_sorted(one) for one in value]
    return value


def _values(before: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """The changes of the file: None for what is there no more."""
    return {
        key: _values(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
        for key in before | table
        for old, new in [(before.get(key), table.get(key))]
        if old != new
    }
