"""What is due is said, exactly once; what is scheduled is listed, made and ended.

A run is a message like any other, with an id that its schedule and its moment alone decide. It is
in the transcript before its row names the next moment: a process that dies in between finds the
message there when it runs again, and only goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import structlog

from bots.bot import Bot
from contract.chat import MOOT, Room, Speaker
from contract.errors import MootError
from gateway.access.access import Access, reaches
from gateway.core.command_table import entry_of
from gateway.core.pins import begins_with_pin
from gateway.core.sql_ledger import SqlLedger
from gateway.schedules.configured import configured, key_of
from gateway.schedules.rows import ScheduleRows
from gateway.schedules.scheduled import Schedule
from gateway.settings.cron import Cron
from gateway.settings.personas.personas import Personas
from gateway.settings.schedules import ScheduleTable, SchedulingTable
from gateway.settings.when import read_once, read_when
from gateway.turns.intake import Intake
from gateway.turns.reading import parse_command
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.schedules")

LONGEST_SLEEP_S = 30.0  # then the clock is looked at again: it may have been set, or have slept
RETRY_S, TRIES = 5.0, 60  # of a run that fails: a store that is away for minutes comes back
NO_TEXT = "Say what I shall ask then: `!every weekday 9:00 summarise yesterday`."
NO_ORDER = "A schedule asks an agent; it can't give me a command."


def is_order(text: str) -> bool:
    """Whether a text would be a command to Moot, and ask no agent."""
    return begins_with_pin(text) or parse_command(text, addressed=True) is not None


class ScheduleError(MootError):
    """It can't be scheduled; `say` tells why, `field` of what."""

    def __init__(self, say: str, field: str = "text") -> None:
        super().__init__(say)
        self.field = field


class Schedules:
    """Runs them, and keeps them."""

    def __init__(
        self,
        rows: ScheduleRows,
        *,
        intake: Intake,
        ledger: SqlLedger,
        transcript: Transcript,
        access: Access,
        personas: Personas,
        bots: Mapping[str, Bot],
        table: SchedulingTable,
        zone: ZoneInfo,
        clock: Callable[[], datetime],
        note: Callable[..., Awaitable[None]],
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """zone: of whoever names none. note: keeps who changed what, in the audit log. count: told
        a word for each whose time came."""
        self.rows = rows
        self._intake = intake
        self._ledger = ledger
        self._transcript = transcript
        self._access = access
        self._personas = personas
        self._bots = bots
        self._table = table
        self.zone = zone
        self._clock = clock
        self._note = note
        self._count = count
        self._changed = asyncio.Event()
        self._failed: Counter[int] = Counter()  # how often in a row, by a schedule's number

    # ── Running ─────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Say what is due, for ever."""
        while True:
            self._changed.clear()
            try:
                await self.look()
                wait_s = await self._due_in_s()
            except Exception:  # the store is what broke: it is tried again
                log.exception("schedules.failed")
                wait_s = LONGEST_SLEEP_S
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _due_in_s(self) -> float:
        if self._failed:
            return RETRY_S
        due = await self.rows.next_due()
        if due is None:
            return LONGEST_SLEEP_S
        return min(max((due - self._clock()).total_seconds(), 0.05), LONGEST_SLEEP_S)

    async def look(self) -> None:
        """Say what is due now."""
        due = await self.rows.due(self._clock())
        self._failed = Counter({one.seq: self._failed[one.seq] for one in due})
        for one in due:
            try:
                await self._run(one)
                del self._failed[one.seq]
            except Exception as error:  # one schedule's failure is its own
                log.debug("schedule.failed", exc_info=True)
                await self._again(one, error)

    async def _again(self, one: Schedule, error: Exception) -> None:
        """It stays due, and is tried again; what fails for good is paused."""
        self._failed[one.seq] += 1
        self._count("failed")
        log.warning(
            "schedule.failed", id=one.seq, tries=self._failed[one.seq], error=type(error).__name__
        )
        if self._failed[one.seq] >= TRIES:
            await self._pause(one, "it failed; the administrator finds why in the log")
            del self._failed[one.seq]

    async def _run(self, one: Schedule) -> None:
        now, due = self._clock(), one.due_at
        if due is None:
            return
        room = await self._room(one)
        if (why := await self._obstacle(one, room)) is not None:
            await self._pause(one, why)
            return
        missed = now - due > self._table.grace
        if missed and one.missed == "skip":
            self._count("skipped")
            log.info("schedule.skipped", id=one.seq, due=due.isoformat())
        elif await self._transcript.find(room.id, one.message_id(due)) is None:
            late = self._late(one, due) if missed else ""
            said = one.said(room, due, now)
            trusted = not one.is_owned
            bot = self._bots[one.bot]
            await self._intake.message(said, bot, trusted=trusted, notice=late)
            self._count("ran")
            log.info("schedule.ran", id=one.seq, due=due.isoformat(), late=missed)
        after = await self._after(one, max(now, due))
        await self.rows.ran(one, due, after)

    def _late(self, one: Schedule, due: datetime) -> str:
        at = due.astimezone(ZoneInfo(one.timezone))
        again = "" if one.cron else ", once"
        return f"⏰ Late: {one.seq} ({one.words}{again}) was due {at:%Y-%m-%d %H:%M}; I was down."

    async def _obstacle(self, one: Schedule, room: Room) -> str | None:
        """Why it can't run, for people, or None."""
        if one.bot not in self._bots:
            return f"the bot {one.bot} is not configured any more"
        if self._personas.get(one.persona) is None:
            return f"there is no persona {one.persona} any more"
        if one.is_owned and not self._may(one, room):
            return f"{one.by.name} may not ask @{one.persona} here any more"
        if one.ran_at and (
            last := await self._transcript.find(room.id, one.message_id(one.ran_at))
        ):
            turns = await self._ledger.turns_of(last.seq)
            if any(turn.state == "dropped" for turn in turns):
                return "the last answer could not be posted here"
        return None

    def _may(self, one: Schedule, room: Room) -> bool:
        """Whether its author may ask still, and schedule still."""
        entry = entry_of("every")
        role = self._access.role(room, one.by.id, one.persona)
        invokes = self._access.may_invoke(room, one.by.id, one.persona)
        return invokes and entry is not None and reaches(role, entry.role)

    async def _pause(self, one: Schedule, why: str) -> None:
        self._count("paused")
        log.warning("schedule.paused", id=one.seq, room=one.room_id, reason=why)
        await self.rows.pause(one.seq, why)
        await self._noted("paused", one, MOOT, why)

    async def _noted(
        self, change: str, one: Schedule, by: Speaker, reason: str | None = None
    ) -> None:
        """What is asked is a message's body, and no part of the audit log."""
        room = await self._room(one)
        why = {} if reason is None else {"reason": reason}
        await self._note(
            "schedule",
            by,
            persona=one.persona,
            room=room,
            turn_id=None,
            id=one.seq,
            change=change,
            when=one.words,
            **why,
        )

    async def _room(self, one: Schedule) -> Room:
        known = await self._transcript.room(one.room_id)
        return known or Room(one.room_id, one.room_id.partition(":")[2])

    async def _after(self, one: Schedule, moment: datetime) -> datetime | None:
        if not one.cron:
            return None
        return await asyncio.to_thread(Cron(one.cron, ZoneInfo(one.timezone)).after, moment)

    # ── Keeping ─────────────────────────────────────────────────────────────────────────

    async def make(self, wanted: Schedule, said: str, *, once: bool) -> Schedule:
        """Keep a new one; said: when, and then what is asked, unless `wanted` has the text.

        Raises MootError.
        """
        now = self._clock()
        zone = ZoneInfo(wanted.timezone)
        if once:
            words, due, rest = read_once(said, zone=zone, now=now)
            cron = ""
        else:
            least = self._table.shortest
            # what never comes is looked for until the year 9999: 0.2 s
            when, rest = await asyncio.to_thread(read_when, said, zone=zone, now=now, least=least)
            words, cron = when.words, when.cron
            first = await asyncio.to_thread(Cron(cron, zone).after, now)
            if first is None:
                raise ScheduleError(f"`{words}` never comes.", "when")
            due = first
        text = (wanted.text or rest).strip()
        if not text:
            raise ScheduleError(NO_TEXT)
        if is_order(text):
            raise ScheduleError(NO_ORDER)
        new = replace(wanted, words=words, cron=cron, text=text, due_at=due, created_at=now)
        kept = await self.rows.add(new, self._table.most)
        if kept is None:
            most = self._table.most
            say = f"There are {most} schedules here already, and no room for more."
            raise ScheduleError(say, "room_id")
        self._changed.set()
        await self._noted("made", kept, kept.by)
        return kept

    async def resume(self, one: Schedule, by: Speaker) -> datetime | None:
        """Run it again; its next run. None: its time is over, so it stays as it is."""
        due = one.due_at if not one.cron else await self._after(one, self._clock())
        if due is not None:
            await self.rows.resume(one.seq, due)
            self._changed.set()
            await self._noted("resumed", one, by)
        return due

    async def pause(self, one: Schedule, by: Speaker) -> None:
        """Somebody said so."""
        await self.rows.pause(one.seq, None)
        await self._noted("paused", one, by)

    async def end(self, one: Schedule, by: Speaker) -> None:
        """Run it never again."""
        await self.rows.end(one.seq, self._clock())
        await self._noted("ended", one, by)

    # ── moot.toml ───────────────────────────────────────────────────────────────────────

    async def take_configured(self, tables: Sequence[ScheduleTable]) -> None:
        """Let the rows say what moot.toml says. What was due meanwhile stays due."""
        known = {one.key: one for one in await self.rows.all() if one.key is not None}
        for key, table in {key_of(table): table for table in tables}.items():
            new = configured(table, self._bots, self.zone, self._clock())
            if new is None:
                continue
            if (old := known.pop(key, None)) is None:
                if kept := await self.rows.add(new, self._table.most):
                    await self._noted("made", kept, MOOT)
            elif (old.bot, old.missed) != (new.bot, new.missed):
                await self.rows.reword(replace(old, bot=new.bot, missed=new.missed))
        for gone in known.values():
            await self.end(gone, MOOT)
