"""The table of schedules: the truth of what is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select, update

from contract.chat import Speaker
from gateway.schedules.scheduled import Schedule
from store.database import Store
from store.gateway_schema import schedules
from store.timestamps import micros, moment

_LIVING = schedules.c.ended_at.is_(None)


class ScheduleRows:
    """Reads and writes the table. Schedules that were ended are kept, and not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, new: Schedule, most: int) -> Schedule | None:
        """Keep a new one; return it with its number. None: the room has so many already."""

        def work(connection: Connection) -> int | None:
            count = select(func.count()).where(_LIVING, schedules.c.room_id == new.room_id)
            if new.key is None and (connection.execute(count).scalar() or 0) >= most:
                return None
            insert = schedules.insert().values(_values(new)).returning(schedules.c.seq)
            seq: int = connection.execute(insert).scalar_one()
            return seq

        seq = await self._store.write(work)
        return None if seq is None else await self.get(seq)

    async def get(self, seq: int) -> Schedule | None:
        """A schedule that was not ended."""
        return next(iter(await self._read(schedules.c.seq == seq)), None)

    async def of_room(self, room_id: str) -> Sequence[Schedule]:
        """The schedules of a room."""
        return await self._read(schedules.c.room_id == room_id)

    async def all(self) -> Sequence[Schedule]:
        """Every schedule."""
        return await self._read(_LIVING)

    async def due(self, now: datetime) -> Sequence[Schedule]:
        """The schedules whose time has come."""
        return await self._read(~schedules.c.paused & (schedules.c.due_at <= micros(now)))

    async def next_due(self) -> datetime | None:
        """The time of the next one."""
        soonest = select(func.min(schedules.c.due_at)).where(_LIVING, ~schedules.c.paused)
        at = await self._store.read(lambda c: c.execute(soonest).scalar(), small=True)
        return None if at is None else moment(at)

    async def ran(self, one: Schedule, due: datetime, after: datetime | None) -> None:
        """Note that it ran, or was skipped; its next run is `after`, or it has ended."""
        values: dict[str, Any] = {"ran_at": micros(due), "due_at": after and micros(after)}
        if after is None:
            values["ended_at"] = micros(due)
        await self._change(one.seq, values)

    async def pause(self, seq: int, why: str | None) -> None:
        """Run it no more until it is resumed."""
        await self._change(seq, {"paused": True, "why": why})

    async def resume(self, seq: int, due: datetime | None) -> None:
        """Run it again, from a moment on."""
        await self._change(seq, {"paused": False, "why": None, "due_at": due and micros(due)})

    async def end(self, seq: int, now: datetime) -> None:
        """Run it never again."""
        await self._change(seq, {"ended_at": micros(now), "key": None})

    async def reword(self, one: Schedule) -> None:
        """Keep what moot.toml says of it now."""
        await self._change(one.seq, _values(one))

    async def _read(self, which: ColumnElement[bool]) -> Sequence[Schedule]:
        query = select(schedules).where(_LIVING, which).order_by(schedules.c.seq)
        return await self._store.read(lambda c: [_schedule(row) for row in c.execute(query)])

    async def _change(self, seq: int, values: Mapping[str, Any]) -> None:
        change = update(schedules).where(schedules.c.seq == seq).values(**values)

        def work(connection: Connection) -> None:
            connection.execute(change)

        await self._store.write(work)


def _values(one: Schedule) -> dict[str, Any]:
    return {
        "key": one.key,
        "room_id": one.room_id,
        "thread_id": one.thread_id,
        "bot": one.bot,
        "persona": one.persona,
        "words": one.words,
        "cron": one.cron,
        "timezone": one.timezone,
        "text": one.text,
        "missed": one.missed,
        "by_id": one.by.id,
        "by_name": one.by.name,
        "through_id": one.by.through and one.by.through.id,
        "through_name": one.by.through and one.by.through.name,
        "created_at": micros(one.created_at),
        "due_at": one.due_at and micros(one.due_at),
        "ran_at": one.ran_at and micros(one.ran_at),
        "paused": one.paused,
        "why": one.why,
    }


def _schedule(row: Row[Any]) -> Schedule:
    through = Speaker(row.through_id, row.through_name) if row.through_id else None
    return Schedule(
        seq=row.seq,
        key=row.key,
        room_id=row.room_id,
        thread_id=row.thread_id,
        bot=row.bot,
        persona=row.persona,
        words=row.words,
        cron=row.cron,
        timezone=row.timezone,
        text=row.text,
        missed=row.missed,
        by=Speaker(row.by_id, row.by_name, "human", through=through),
        created_at=moment(row.created_at),
        due_at=None if row.due_at is None else moment(row.due_at),
        ran_at=None if row.ran_at is None else moment(row.ran_at),
        paused=bool(row.paused),
        why=row.why,
    )
