"""Records of sessions in a store that several machines reach.

The database says which object of a session is its newest. A machine that goes on with a session has
an object of its own: one that was stopped while another one led, and wakes, overwrites what nobody
reads any more, and can't note it as the newest. What such a one, or a kill, leaves is collected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from sqlalchemy import Connection, delete, or_, select, update

from gateway.core.ledger import SessionKey
from gateway.files.store import FileStore
from gateway.sessions.sessions import digest
from store.database import Store, insert_of
from store.gateway_schema import machine_erasures, session_records

FOLDER = "homes"
_C = session_records.c


def record_of(key: SessionKey) -> str:
    """The name of a session's record: digests of its scope and of its own."""
    return f"{digest(key.scope)}.{digest(key.id)}"


class Records:
    """Keeps them. Its methods raise FileStoreFailed, and StoreRefusal."""

    def __init__(self, store: Store, objects: FileStore) -> None:
        self._store, self._objects = store, objects
        self._noted: dict[str, str] = {}  # words of the newest, as far as they were noted here
        self._here: set[str] = set()  # names of objects that were put here

    async def newest(self, session: str) -> str:
        """The word of the newest object of a session; "": there is none."""
        if session in self._noted:
            return self._noted[session]
        return await self._store.read(partial(_newest, session=session), small=True)

    async def get(self, session: str, word: str) -> bytes | None:
        """Its bytes; None: they are gone."""
        return await self._objects.get(_name(session, word))

    async def put(self, session: str, word: str, data: bytes) -> None:
        """Keep a record as the newest one: in the place of what has the same word, else the one
        before goes."""
        name = _name(session, word)
        self._here.add(name)
        await self._objects.put(name, data)
        if self._noted.get(session) != word:
            before = await self._store.write(partial(self._note, session=session, word=word))
            self._noted[session] = word
            if before not in ("", word):
                await self._delete(_name(session, before))

    async def drop(self, session: str) -> None:
        """A session ended: nobody goes on with it."""
        self._noted.pop(session, None)
        before = await self._store.write(partial(_note_none, session=session))
        if before:
            await self._delete(_name(session, before))

    async def forget(self, scopes: Collection[str]) -> None:
        """Know of no record of these scopes, by their digests; see `delete`."""
        await self._store.write(partial(forget_records, scopes=scopes))
        for session in [one for one in self._noted if one.partition(".")[0] in scopes]:
            del self._noted[session]

    async def delete(self, scopes: Collection[str]) -> None:
        """Delete all objects of scopes, whatever the database says."""
        for scope in scopes:
            await self._delete(*await self._objects.list(f"{FOLDER}/{scope}"))

    async def collect(self) -> None:
        """Delete what is not the newest of a session, and what is left of erased scopes."""
        names = [name for name in await self._objects.list(FOLDER) if name not in self._here]
        words, erased = await self._store.read(_known)
        await self._delete(*(name for name in names if _is_left(name, words, erased)))

    def _note(self, connection: Connection, session: str, word: str) -> str:
        """Note the newest; the one before."""
        before = _newest(connection, session)
        new = insert_of(self._store)(session_records).values(session=session, word=word)
        changes = {"word": new.excluded.word}
        connection.execute(new.on_conflict_do_update(index_elements=[_C.session], set_=changes))
        return before

    async def _delete(self, *names: str) -> None:
        self._here.difference_update(names)
        await self._objects.delete(names)


def _newest(connection: Connection, session: str) -> str:
    word: str | None = connection.execute(select(_C.word).where(_C.session == session)).scalar()
    return word or ""


def _note_none(connection: Connection, session: str) -> str:
    """There is no newest from now on; the one before."""
    if before := _newest(connection, session):
        gone = update(session_records).where(_C.session == session)
        connection.execute(gone.values(word=""))
    return before


def forget_records(connection: Connection, scopes: Collection[str]) -> None:
    """Know of no record of these scopes, by their digests."""
    if scopes:
        of_them = or_(*(_C.session.startswith(f"{scope}.") for scope in scopes))
        connection.execute(delete(session_records).where(of_them))


def _name(session: str, word: str) -> str:
    scope, _, own = session.partition(".")
    return f"{FOLDER}/{scope}/{own}.{word}"


def _known(connection: Connection) -> tuple[Mapping[str, str], Collection[str]]:
    """Words of the newest records, and digests of the scopes that were erased."""
    table = machine_erasures.c
    words = connection.execute(select(_C.session, _C.word)).all()
    erased = connection.execute(
        select(table.digest).where(table.what.in_(("scope", "homes")))
    ).scalars()
    return dict(tuple(row) for row in words), set(erased)


def _is_left(name: str, words: Mapping[str, str], erased: Collection[str]) -> bool:
    scope, _, rest = name.removeprefix(f"{FOLDER}/").partition("/")
    own, _, word = rest.partition(".")
    newest = words.get(f"{scope}.{own}")
    return scope in erased if newest is None else newest != word
