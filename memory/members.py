"""The people whose shared profile a room may see: everybody who takes part in it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, exists, func, select

from store.database import Store
from store.schema import facts, messages

_PREFIX = "profile:"
_AFTER = "profile;"  # the string that follows every one with the prefix, byte by byte
MOST = 500

_M, _F = messages.c, facts.c


def _sharers(profile: ColumnElement[bool]) -> Select[Any]:
    owner = func.substr(_F.scope, len(_PREFIX) + 1).label("id")
    owners = select(owner).where(profile).distinct().subquery()
    spoke = exists().where(
        _M.scope == bindparam("scope"), _M.sender_id == owners.c.id, _M.sender_type == "human"
    )
    return select(owners.c.id).where(spoke).order_by(owners.c.id).limit(MOST)


# SQLite compares bytes, so that a range goes by the index; other databases may sort by language.
_BY_RANGE = _sharers((_F.scope >= _PREFIX) & (_F.scope < _AFTER))
_BY_PATTERN = _sharers(_F.scope.like(f"{_PREFIX}%"))


class Members:
    """Answers for rooms whose platform hasn't told its roster.

    Who spoke in a room takes part in it, however long ago; who is only said to be there, by name
    or by a look-alike id, doesn't.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sharers = _BY_RANGE if store.dialect == "sqlite" else _BY_PATTERN

    async def spoke(self, scope: str) -> tuple[str, ...]:
        """Ids of those who have spoken here and have a shared profile; MOST at the most."""

        def work(connection: Connection) -> tuple[str, ...]:
            return tuple(connection.execute(self._sharers, {"scope": scope}).scalars())

        return await self._store.read(work)
