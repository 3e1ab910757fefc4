"""Every good form that a persona's file had, numbered from 1 for each persona."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, func, select

from contract.chat import Speaker
from contract.values import dataclass
from gateway.settings.personas.files import text_mark
from store.database import Store, insert_of
from store.gateway_schema import persona_files, persona_versions
from store.timestamps import micros, moment

Why = Literal["file", "page", "rollback", "delete"]
_TABLE = persona_versions.c


@dataclass(frozen=True, slots=True)
class Version:
    """One form of a file. by: None: it was edited outside of Moot. why "delete": it was taken
    away, and text is empty."""

    name: str
    number: int
    text: str
    why: Why
    by: Speaker | None
    at: datetime

    @property
    def deleted(self) -> bool:
        """True if the file was gone from then on."""
        return self.why == "delete"

    def about(self) -> str:
        """The one who made it, in a few words."""
        if self.number == 1 and self.why == "file":
            return "as Moot found it"
        who = f"by {self.by.name}" if self.by else "outside of Moot"
        how = {"file": "edited", "page": "edited", "rollback": "rolled back", "delete": "deleted"}
        return f"{how[self.why]} {who}"


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """The version that a file is to have on each machine. digest: see `text_mark`."""

    number: int
    digest: str


class Versions:
    """Versions of personas' files; they are only ever added to."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    @property
    def read_only(self) -> bool:
        """True where another gateway leads: nothing can be noted."""
        return self._store.read_only

    async def note(self, name: str, text: str, why: Why, by: Speaker | None = None) -> Version:
        """Add a form, unless it is the newest one already; return the newest."""
        values = self._values(name, text, why, by)
        return await self._store.write(lambda connection: _note(connection, values))

    def _values(self, name: str, text: str, why: Why, by: Speaker | None) -> dict[str, Any]:
        return {
            "name": name,
            "text": text,
            "why": why,
            "by_id": by.proven.id if by else None,
            "by_name": by.proven.name if by else None,
            "at": micros(self._clock()),
        }

    async def of(self, name: str) -> list[Version]:
        """All of one persona, the newest first."""
        query = select(persona_versions).where(_TABLE.name == name).order_by(_TABLE.number.desc())
        return await self._read(query)

    async def get(self, name: str, number: int) -> Version | None:
        """One version."""
        query = select(persona_versions).where(_TABLE.name == name, _TABLE.number == number)
        return next(iter(await self._read(query)), None)

    async def newest(self) -> dict[str, Version]:
        """The newest of each persona that ever was."""
        last = select(func.max(_TABLE.seq)).group_by(_TABLE.name)
        query = select(persona_versions).where(_TABLE.seq.in_(last)).order_by(_TABLE.name)
        return {version.name: version for version in await self._read(query)}

    async def knows(self, name: str, text: str) -> bool:
        """True if one of them has this text."""
        query = select(_TABLE.number).where(_TABLE.name == name, _TABLE.text == text).limit(1)
        return await self._store.read(lambda c: c.execute(query).first() is not None)

    async def current(self) -> dict[str, CurrentVersion]:
        """Those that files are to have on each machine, by name."""
        query = select(persona_files)
        return await self._store.read(
            lambda c: {row.name: CurrentVersion(row.number, row.digest) for row in c.execute(query)}
        )

    async def put(self, name: str, text: str | None) -> None:
        """Note a form that a file got outside of Moot, None: it is gone, unless it is noted; it is
        what the file is to have on each machine."""
        values = self._values(name, text or "", "delete" if text is None else "file", None)
        mark = text_mark(text)

        def work(connection: Connection) -> None:
            number = _note(connection, values).number
            new = insert_of(self._store)(persona_files)
            connection.execute(
                new.on_conflict_do_update(
                    index_elements=[persona_files.c.name],
                    set_={"number": new.excluded.number, "digest": new.excluded.digest},
                ),
                {"name": name, "number": number, "digest": mark},
            )

        await self._store.write(work)

    async def _read(self, query: Any) -> list[Version]:
        return await self._store.read(
            lambda connection: [_version(row) for row in connection.execute(query)]
        )


def _note(connection: Connection, values: dict[str, Any]) -> Version:
    query = select(persona_versions).where(_TABLE.name == values["name"])
    row = connection.execute(query.order_by(_TABLE.number.desc()).limit(1)).first()
    gone = values["why"] == "delete"
    if row is not None and (row.why == "delete") == gone and row.text == values["text"]:
        return _version(row)
    numbered = {**values, "number": row.number + 1 if row else 1}
    connection.execute(persona_versions.insert().values(numbered))
    query = query.where(_TABLE.number == numbered["number"])
    return _version(connection.execute(query).one())


def _version(row: Row[Any]) -> Version:
    by = Speaker(row.by_id, row.by_name or row.by_id) if row.by_id else None
    return Version(row.name, row.number, row.text, row.why, by, moment(row.at))
