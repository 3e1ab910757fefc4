"""The ledger's part on the agents' sessions: which to resume, and which have ended."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from gateway.core.ledger import UnusedSession
from gateway.core.sql_rows import (
    END_SESSION,
    IDLE_SESSIONS,
    ONE_SESSION,
    RETIRE_SESSION,
    SESSION,
    USED_FIRST,
    ended_of,
)
from store.database import Store, insert_of
from store.schema import sessions
from store.timestamps import micros, moment


class SqlSessions:
    """See `gateway.core.ledger.Ledger`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        new_session = insert_of(store)(sessions)
        self._keep_session = new_session.on_conflict_do_update(
            index_elements=["persona", "scope"],
            set_={
                name: new_session.excluded[name]
                for name in ("agent", "agent_session_id", "used_at", "ended_at")
            },
        )

    async def agent_session(self, persona: str, scope: str, agent: str) -> str | None:
        where = {"persona": persona, "scope": scope, "agent": agent}
        return await self._store.read(
            lambda connection: connection.execute(SESSION, where).scalar()
        )

    async def keep_session(
        self, persona: str, scope: str, agent: str, session_id: str | None, now: datetime
    ) -> None:
        values = _session(persona, scope, agent, session_id, now)
        await self._store.write(lambda connection: connection.execute(self._keep_session, values))

    def use_session(
        self, persona: str, scope: str, agent: str, session_id: str | None, now: datetime
    ) -> None:
        values = _session(persona, scope, agent, session_id, now)

        def work(connection: Connection) -> None:
            connection.execute(self._keep_session, values)

        self._store.write_later(work)

    async def retire_session(self, persona: str, scope: str) -> UnusedSession | None:
        where = {"of_persona": persona, "of_scope": scope}

        def work(connection: Connection) -> UnusedSession | None:
            row = connection.execute(ONE_SESSION, where).first()
            connection.execute(RETIRE_SESSION, where)
            return None if row is None else ended_of(row)

        return await self._store.write(work)

    async def idle_sessions(self, since: datetime) -> list[UnusedSession]:
        where = {"since": micros(since)}
        return await self._store.read(
            lambda connection: [ended_of(row) for row in connection.execute(IDLE_SESSIONS, where)]
        )

    async def used_first(self) -> datetime | None:
        at = await self._store.read(lambda connection: connection.execute(USED_FIRST).scalar())
        return None if at is None else moment(at)

    async def ended_session(self, ended: UnusedSession, now: datetime) -> None:
        values = {
            "of_persona": ended.session.persona,
            "of_scope": ended.session.scope,
            "last_used_at": ended.used_at,
            "at": micros(now),
        }
        await self._store.write(lambda connection: connection.execute(END_SESSION, values))


def _session(
    persona: str, scope: str, agent: str, session_id: str | None, now: datetime
) -> dict[str, Any]:
    return {
        "persona": persona,
        "scope": scope,
        "agent": agent,
        "agent_session_id": session_id,
        "used_at": micros(now),
        "ended_at": None,
    }
