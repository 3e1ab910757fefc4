"""Schedules that lie in memory, for a page without a gateway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from contract.chat import Speaker
from gateway.schedules.scheduled import Schedule
from gateway.schedules.service import ScheduleRequest

AT = datetime(2026, 4, 21, 14, 2, tzinfo=UTC)


@dataclass
class FakeSchedules:
    """Stands for ScheduleService. asked: what the page asked, in order."""

    living: dict[int, Schedule] = field(default_factory=dict)
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def all(self, room_id: str | None) -> Sequence[Schedule]:
        return [one for one in self.living.values() if room_id in (None, one.room_id)]

    async def create(self, wish: ScheduleRequest) -> Schedule:
        self.asked.append(("create", wish))
        seq = len(self.living) + 1
        self.living[seq] = Schedule(
            seq=seq,
            key=None,
            room_id=wish.room_id,
            thread_id=wish.thread_id,
            bot="web",
            persona=wish.persona,
            words=wish.when,
            cron="0 9 * * *",
            timezone="UTC",
            text=wish.text,
            missed=wish.missed,
            by=wish.by,
            created_at=AT,
            due_at=AT,
        )
        return self.living[seq]

    async def pause(self, seq: int, by: Speaker, *, paused: bool) -> Schedule | None:
        self.asked.append(("pause", seq, paused))
        if seq not in self.living:
            return None
        self.living[seq] = replace(self.living[seq], paused=paused)
        return self.living[seq]

    async def end(self, seq: int, by: Speaker) -> bool:
        self.asked.append(("end", seq))
        return self.living.pop(seq, None) is not None
