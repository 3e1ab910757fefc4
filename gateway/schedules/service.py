"""Schedules for the page and the HTTP API, which act as an owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from bots.bot import Bot
from contract.chat import Speaker
from contract.errors import Rejected
from contract.values import dataclass
from gateway.schedules.configured import bot_for
from gateway.schedules.scheduled import Schedule
from gateway.schedules.schedules import ScheduleError, Schedules
from gateway.settings.personas.personas import Personas
from gateway.settings.schedules import Missed
from gateway.settings.when import WhenError
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A schedule that is asked for. when: as behind `!every`."""

    room_id: str
    persona: str
    when: str
    text: str
    by: Speaker
    missed: Missed = "once"
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class ScheduleService:
    """Makes, pauses and ends schedules of any room."""

    schedules: Schedules
    transcript: Transcript
    personas: Personas
    bots: Mapping[str, Bot]
    clock: Callable[[], datetime]

    async def all(self, room_id: str | None) -> Sequence[Schedule]:
        rows = self.schedules.rows
        return await (rows.all() if room_id is None else rows.of_room(room_id))

    async def create(self, wish: ScheduleRequest) -> Schedule:
        room = await self.transcript.room(wish.room_id)
        if room is None:
            raise Rejected("room_id", "there is no such room")
        if self.personas.good.get(wish.persona) is None:
            raise Rejected("persona", "there is no such persona")
        bot = bot_for(self.bots, room.source, wish.persona)
        if bot is None:
            raise Rejected("room_id", "no bot of Moot's is on that platform")
        wanted = Schedule(
            room_id=room.id,
            thread_id=wish.thread_id,
            bot=bot,
            persona=wish.persona,
            timezone=self.schedules.zone.key,
            text=wish.text,
            missed=wish.missed,
            by=wish.by,
            created_at=self.clock(),
        )
        try:
            return await self.schedules.make(wanted, wish.when, once=False)
        except WhenError as error:
            raise Rejected("when", error.say) from None
        except ScheduleError as error:
            raise Rejected(error.field, error.say) from None

    async def pause(self, seq: int, by: Speaker, *, paused: bool) -> Schedule | None:
        one = await self.schedules.rows.get(seq)
        if one is None:
            return None
        if paused:
            await self.schedules.pause(one, by)
        elif await self.schedules.resume(one, by) is None:
            raise Rejected("paused", "its time is over")
        return await self.schedules.rows.get(seq)

    async def end(self, seq: int, by: Speaker) -> bool:
        one = await self.schedules.rows.get(seq)
        if one is None:
            return False
        if one.key is not None:
            raise Rejected("id", "it stands in moot.toml: take it out there")
        await self.schedules.end(one, by)
        return True
