"""Whose shared profile a room may see: that of everybody who takes part in it."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, exists, func, select

from memory.schema import facts, messages
from memory.store import Store

_PREFIX = "profile:"
_AFTER = "profile;"  # the string that follows every one with the prefix
MOST = 500

_M, _F = messages.c, facts.c
_OWNERS = (
    select(func.substr(_F.scope, len(_PREFIX) + 1).label("id"))
    .distinct()
    .where(_F.scope >= _PREFIX, _F.scope < _AFTER, _F.replaced_by.is_(None))
    .subquery()
)
_SPOKE = exists().where(
    _M.scope == bindparam("scope"), _M.sender_id == _OWNERS.c.id, _M.sender_type == "human"
)
_SHARERS = select(_OWNERS.c.id).where(_SPOKE).order_by(_OWNERS.c.id).limit(MOST)


def sharers(connection: Connection, scope: str) -> tuple[str, ...]:
    """Ids of the people who shared something with their rooms and have spoken in this one."""
    return tuple(connection.execute(_SHARERS, {"scope": scope}).scalars())


class Members:
    """Answers for rooms whose platform hasn't told its roster.

    Who spoke in a room takes part in it, however long ago; who only is said to be there, by name
    or by look-alike id, doesn't.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def spoke(self, scope: str) -> tuple[str, ...]:
        """Ids of those who have spoken here and have a shared profile."""
        return await self._store.read(lambda connection: sharers(connection, scope))
