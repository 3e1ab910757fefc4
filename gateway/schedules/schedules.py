"""Schedules are listed, made, paused and ended here; see runner.py for what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from bots.bot import Bot
from contract.chat import MOOT, Room, Speaker
from contract.errors import MootError
from contract.language import phrase, say
from gateway.audit.audit import Audit
from gateway.core.reading import begins_with_pin, parse_command
from gateway.schedules.configured import configured, key_of
from gateway.schedules.rows import ScheduleRows
from gateway.schedules.scheduled import Schedule
from gateway.settings.cron import Cron
from gateway.settings.schedules import ScheduleTable, SchedulingTable
from gateway.settings.when import read_once, read_when
from store.transcript import Transcript

NO_TEXT = phrase("Say what I shall ask then: `!every weekday 9:00 summarise yesterday`.")
NO_ORDER = phrase("A schedule asks an agent; it can't give me a command.")


def is_order(text: str) -> bool:
    """True if the text would be a command to Moot, and so would ask no agent."""
    return begins_with_pin(text) or parse_command(text, addressed=True) is not None


class ScheduleError(MootError):
    """Something can't be scheduled; `say` gives the reason, `field` names what is wrong."""

    def __init__(self, say: str, field: str = "text") -> None:
        super().__init__(say)
        self.field = field


class Schedules:
    """Keeps the schedules of all rooms. zone: of whoever names none."""

    def __init__(
        self,
        rows: ScheduleRows,
        transcript: Transcript,
        audit: Audit,
        *,
        table: SchedulingTable,
        zone: ZoneInfo,
        clock: Callable[[], datetime],
    ) -> None:
        self.rows = rows
        self.table = table
        self.zone = zone
        self.clock = clock
        self.changed = asyncio.Event()  # set when a run may be due sooner than it was
        self._transcript = transcript
        self._audit = audit

    async def room(self, one: Schedule) -> Room:
        """The room of a schedule, also before its first message."""
        known = await self._transcript.room(one.room_id)
        return known or Room(one.room_id, one.room_id.partition(":")[2])

    async def after(self, one: Schedule, moment: datetime) -> datetime | None:
        """The next run after a moment; None: never again."""
        if not one.cron:
            return None
        return await asyncio.to_thread(Cron(one.cron, ZoneInfo(one.timezone)).after, moment)

    async def make(self, wanted: Schedule, said: str, *, once: bool) -> Schedule:
        """Keep a new one; said: when, and then what is asked, unless `wanted` has the text.

        Raises MootError.
        """
        now = self.clock()
        zone = ZoneInfo(wanted.timezone)
        if once:
            words, due, rest = read_once(said, zone=zone, now=now)
            cron = ""
        else:
            least = self.table.shortest
            # what never comes is looked for until the year 9999: 0.2 s
            when, rest = await asyncio.to_thread(read_when, said, zone=zone, now=now, least=least)
            words, cron = when.words, when.cron
            first = await asyncio.to_thread(Cron(cron, zone).after, now)
            if first is None:
                raise ScheduleError(say("`{words}` never comes.", words=words), "when")
            due = first
        text = (wanted.text or rest).strip()
        if not text:
            raise ScheduleError(say(NO_TEXT))
        if is_order(text):
            raise ScheduleError(say(NO_ORDER))
        new = replace(wanted, words=words, cron=cron, text=text, due_at=due, created_at=now)
        kept = await self.rows.add(new, self.table.most)
        if kept is None:
            most = self.table.most
            line = say("There are {most} schedules here already, and no room for more.", most=most)
            raise ScheduleError(line, "room_id")
        self.changed.set()
        await self._noted("made", kept, wanted.by)
        return kept

    async def resume(self, one: Schedule, by: Speaker) -> datetime | None:
        """Run it again; its next run. None: its time is over, so it stays as it is."""
        due = one.due_at if not one.cron else await self.after(one, self.clock())
        if due is not None:
            await self.rows.resume(one.seq, due)
            self.changed.set()
            await self._noted("resumed", one, by)
        return due

    async def pause(self, one: Schedule, by: Speaker) -> None:
        """Run it no more until it is resumed: somebody said so."""
        await self.rows.pause(one.seq, None)
        await self._noted("paused", one, by)

    async def stop_for(self, one: Schedule, why: str) -> None:
        """Pause it because it can't run. why: for people."""
        await self.rows.pause(one.seq, why)
        await self._noted("paused", one, MOOT, why)

    async def end(self, one: Schedule, by: Speaker) -> None:
        """Run it never again."""
        await self.rows.end(one.seq, self.clock())
        await self._noted("ended", one, by)

    async def take_configured(
        self, tables: Sequence[ScheduleTable], bots: Mapping[str, Bot]
    ) -> None:
        """Let the rows say what moot.toml says. What was due meanwhile stays due."""
        known = {one.key: one for one in await self.rows.all() if one.key is not None}
        for key, table in {key_of(table): table for table in tables}.items():
            new = configured(table, bots, self.zone, self.clock())
            if new is None:
                continue
            if (old := known.pop(key, None)) is None:
                if kept := await self.rows.add(new, self.table.most):
                    await self._noted("made", kept, MOOT)
            elif (old.bot, old.missed) != (new.bot, new.missed):
                await self.rows.reword(replace(old, bot=new.bot, missed=new.missed))
        for gone in known.values():
            await self.end(gone, MOOT)

    async def _noted(
        self, change: str, one: Schedule, by: Speaker, reason: str | None = None
    ) -> None:
        """Note the change in the audit log, without the question: that is a message's body."""
        room = await self.room(one)
        detail: dict[str, str | int | bool | None] = {"id": one.seq, "change": change}
        detail |= {"when": one.words} | ({} if reason is None else {"reason": reason})
        await self._audit.note(
            "schedule", by, persona=one.persona, room=room, turn_id=None, **detail
        )
