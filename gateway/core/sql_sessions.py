"""The ledger's part on the agents' sessions: which to resume, and which have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from operator import methodcaller
from typing import Any

from sqlalchemy import Connection, select, update

from contract.values import dataclass
from gateway.core.ledger import SessionKey, Turn, UnusedSession
from gateway.core.sql_rows import (
    END_SESSION,
    IDLE_SESSIONS,
    ONE_SESSION,
    PAST_SESSIONS,
    RETIRE_SESSION,
    SESSION,
    TURNS,
    USED_FIRST,
    ended_of,
    of_key,
    turn_of,
)
from store.database import Store, insert_of
from store.schema import sessions, turns
from store.timestamps import micros, moment
from store.together import run_each, running

USES_NOTED_S = 1.0  # rooms that talk all the time are noted together
LISTED = 20  # more than people go back to
LOOKED_AT = 50  # more than anybody takes back one after the other


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session that an agent has answered in. first: the turn that began it; turns: how many."""

    first: Turn
    turns: int

    @property
    def agent(self) -> str:
        """The name of its program."""
        return str(self.first.record.get("agent"))

    @property
    def id(self) -> str:
        """The id by which its program knows it."""
        return str(self.first.record.get("session"))


class SqlSessions:
    """A part of the ledger, see SqlLedger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._uses: dict[SessionKey, dict[str, Any]] = {}
        self._noting: asyncio.TimerHandle | None = None
        new_session = insert_of(store)(sessions)
        self._keep_session = new_session.on_conflict_do_update(
            index_elements=["persona", "scope", "thread_id"],
            set_={
                name: new_session.excluded[name]
                for name in ("agent", "agent_session_id", "used_at", "ended_at")
            },
        )

    async def agent_session(self, key: SessionKey, agent: str) -> str | None:
        """The agent's own session id to resume, or None."""
        where = asdict(key) | {"agent": agent}
        return await self._store.read(
            lambda connection: connection.execute(SESSION, where).scalar()
        )

    def keep_session(
        self,
        key: SessionKey,
        agent: str,
        session_id: str | None,
        now: datetime,
        *,
        later: bool = False,
    ) -> Awaitable[object]:
        """Remember the agent's session id, where it has one, and that it was used now. later: it is
        known, so it need only be on disk soon."""
        self.note_uses()
        work = running(self._keep_session, _values(key, agent, session_id, micros(now)))
        return self._store.write_later(work) if later else self._store.write(work, small=True)

    def used_again(
        self, key: SessionKey, agent: str, session_id: str | None, now: datetime
    ) -> None:
        """A session that is on disk was used: there as well within USES_NOTED_S."""
        if not self._uses:
            self._noting = asyncio.get_running_loop().call_later(USES_NOTED_S, self.note_uses)
        self._uses[key] = _values(key, agent, session_id, micros(now))

    def note_uses(self) -> None:
        """The last uses come to disk before anything that is written from now on."""
        if not self._uses:
            return
        if self._noting is not None:
            self._noting.cancel()
        uses, self._uses = list(self._uses.values()), {}
        self._store.write_later(partial(run_each, statement=self._keep_session, each=uses))

    async def retire_session(self, key: SessionKey) -> UnusedSession | None:
        """Resume it no more. None when there is none, or its end is known already."""
        self.note_uses()
        where = of_key(key)

        def work(connection: Connection) -> UnusedSession | None:
            row = connection.execute(ONE_SESSION, where).first()
            connection.execute(RETIRE_SESSION, where)
            return None if row is None else ended_of(row)

        return await self._store.write(work)

    async def retire_scope(self, scope: str) -> None:
        """Resume none of a scope any more, nor go back to one that was before."""
        self.note_uses()
        asked = select(turns.c.seq, turns.c.record).where(turns.c.scope == scope)

        def work(connection: Connection) -> None:
            ends = update(sessions).where(sessions.c.scope == scope)
            connection.execute(ends.values(agent=""))
            for turn in connection.execute(asked).all():
                if turn.record and "session" in turn.record:
                    kept = {name: one for name, one in turn.record.items() if name != "session"}
                    change = update(turns).where(turns.c.seq == turn.seq)
                    connection.execute(change.values(record=kept))

        await self._store.write(work)

    async def threads_with_sessions(self, key: SessionKey) -> list[str]:
        """The threads of a scope in which a persona has a session."""
        query = select(sessions.c.thread_id).where(
            sessions.c.persona == key.persona,
            sessions.c.scope == key.scope,
            sessions.c.thread_id != "",
            sessions.c.agent != "",
        )
        return await self._store.read(lambda c: list(c.execute(query).scalars()))

    async def past_sessions(self, key: SessionKey) -> list[PastSession]:
        """The last sessions that can be told apart by their agents' ids, the newest first."""
        where = asdict(key) | {"most": LISTED}

        def work(connection: Connection) -> list[PastSession]:
            rows = connection.execute(PAST_SESSIONS, where)
            return [PastSession(turn_of(row), row.turns_taken) for row in rows]

        return await self._store.read(work)

    async def last_in_session(self, key: SessionKey) -> Turn | None:
        """The newest turn whose agent was asked in a session, and which was not undone."""
        query = TURNS.where(*(turns.c[name] == value for name, value in _columns(key).items()))
        query = query.where(turns.c.kind == "ask", turns.c.state == "posted")
        newest = query.order_by(turns.c.seq.desc()).limit(LOOKED_AT)

        def work(connection: Connection) -> Turn | None:
            found = (turn_of(row) for row in connection.execute(newest))
            return next((one for one in found if "undone" not in one.record), None)

        return await self._store.read(work)

    def note(self, connection: Connection, turn: Turn, **more: object) -> Turn:
        """Put more into the record of a turn that has ended."""
        record = turn.record | more
        connection.execute(update(turns).where(turns.c.id == turn.id).values(record=record))
        return replace(turn, record=record)

    async def idle_sessions(self, since: datetime) -> list[UnusedSession]:
        """Sessions not used after `since` of which the memory knows no end, longest idle first."""
        where = {"since": micros(since)}
        found = await self._store.read(
            lambda connection: [ended_of(row) for row in connection.execute(IDLE_SESSIONS, where)]
        )
        return [one for one in found if one.key not in self._uses]

    async def used_first(self) -> datetime | None:
        """The time of the last use of the longest idle session that did not end yet."""
        at = await self._store.read(lambda connection: connection.execute(USED_FIRST).scalar())
        return None if at is None else moment(at)

    async def ended_session(self, ended: UnusedSession, now: datetime) -> None:
        """The memory knows of the end; nothing changes when the session was used again."""
        values: dict[str, Any] = of_key(ended.key)
        values |= {"last_used_at": ended.used_at, "at": micros(now)}
        await self._store.write(methodcaller("execute", END_SESSION, values))


def _columns(key: SessionKey) -> dict[str, str]:
    """The key as the columns of turns."""
    return {"persona": key.persona, "scope": key.scope, "session_thread": key.thread_id}


def _values(
    key: SessionKey, agent: str, session_id: str | None, used_at: int
) -> dict[str, str | int | None]:
    """A session that is used, as its row."""
    return asdict(key) | {
        "agent": agent,
        "agent_session_id": session_id,
        "used_at": used_at,
        "ended_at": None,
    }
