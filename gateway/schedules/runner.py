"""Runs what is due, exactly once.

A run is a message like any other, with an id that its schedule and its moment alone decide. It is
in the transcript before its row names the next moment: a process that dies in between finds the
message there when it runs again, and only goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

import structlog

from bots.bot import Bot
from contract.chat import Room
from contract.language import say
from gateway.access.access import Access, reaches
from gateway.core.command_table import entry_of
from gateway.core.sql_ledger import SqlLedger
from gateway.schedules.scheduled import Schedule, is_owned, run_id, run_message
from gateway.schedules.schedules import Schedules
from gateway.settings.personas.personas import Personas
from gateway.turns.intake import Intake
from store.health import StoreRefusal
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.schedules")

LONGEST_SLEEP_S = 30.0  # then the clock is looked at again: it may have been set, or have slept
RETRY_S, TRIES = 5.0, 60  # of a run that fails: a store that is away for minutes comes back


class ScheduleRunner:
    """Gives each schedule's message to the intake when its time has come."""

    def __init__(
        self,
        schedules: Schedules,
        *,
        ledger: SqlLedger,
        transcript: Transcript,
        access: Access,
        personas: Personas,
        bots: Mapping[str, Bot],
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """count: given a word for each schedule whose time came."""
        self._schedules = schedules
        self._rows = schedules.rows
        self._clock = schedules.clock
        self._ledger = ledger
        self._transcript = transcript
        self._access = access
        self._personas = personas
        self._bots = bots
        self._count = count
        self._failed: Counter[int] = Counter()  # how often in a row, by a schedule's number

    async def run(self, intake: Intake) -> None:
        """Run what is due, for ever."""
        changed = self._schedules.changed
        while True:
            changed.clear()
            try:
                await self.look(intake)
                wait_s = await self._due_in_s()
            except StoreRefusal as refusal:
                log.warning("schedules.failed", reason=str(refusal))
                wait_s = RETRY_S
            except Exception:  # whatever it is: it is tried again
                log.exception("schedules.failed")
                wait_s = LONGEST_SLEEP_S
            try:
                async with asyncio.timeout(wait_s):
                    await changed.wait()
            except TimeoutError:
                pass

    async def _due_in_s(self) -> float:
        if self._failed:
            return RETRY_S
        due = await self._rows.next_due()
        if due is None:
            return LONGEST_SLEEP_S
        return min(max((due - self._clock()).total_seconds(), 0.05), LONGEST_SLEEP_S)

    async def look(self, intake: Intake) -> None:
        """Run what is due now."""
        due = await self._rows.due(self._clock())
        self._failed = Counter({one.seq: self._failed[one.seq] for one in due})
        for one in due:
            try:
                await self._run(one, intake)
                del self._failed[one.seq]
            except Exception as error:  # one schedule's failure is its own
                log.debug("schedule.failed", exc_info=True)
                await self._try_again(one, error)

    async def _try_again(self, one: Schedule, error: Exception) -> None:
        """Leave it due, to be tried again; pause what fails for good."""
        self._failed[one.seq] += 1
        tries = self._failed[one.seq]
        self._count("failed")
        log.warning("schedule.failed", id=one.seq, tries=tries, error=type(error).__name__)
        if tries >= TRIES:
            await self._pause(one, say("it failed; the administrator finds why in the log"))
            del self._failed[one.seq]

    async def _run(self, one: Schedule, intake: Intake) -> None:
        now, due = self._clock(), one.due_at
        if due is None:
            return
        room = await self._schedules.room(one)
        if (why := await self._obstacle(one, room)) is not None:
            await self._pause(one, why)
            return
        missed = now - due > self._schedules.table.grace
        if missed and one.missed == "skip":
            self._count("skipped")
            log.info("schedule.skipped", id=one.seq, due=due.isoformat())
        elif await self._transcript.find(room.id, run_id(one, due)) is None:
            await intake.message(
                run_message(one, room, due, now),
                self._bots[one.bot],
                trusted=not self._is_owned(one),
                notice=_late(one, due) if missed else "",
            )
            self._count("ran")
            log.info("schedule.ran", id=one.seq, due=due.isoformat(), late=missed)
        after = await self._schedules.after(one, max(now, due))
        await self._rows.ran(one, due, after)

    async def _obstacle(self, one: Schedule, room: Room) -> str | None:
        """The reason why it can't run, for people, or None."""
        if one.bot not in self._bots:
            return say("the bot {bot} is not configured any more", bot=one.bot)
        if self._personas.good.get(one.persona) is None:
            return say("there is no persona {persona} any more", persona=one.persona)
        if self._is_owned(one) and not self._may(one, room):
            return say(
                "{who} may not ask @{persona} here any more", who=one.by.name, persona=one.persona
            )
        if one.ran_at and (last := await self._transcript.find(room.id, run_id(one, one.ran_at))):
            turns = await self._ledger.turns_of(last.seq)
            if any(turn.state == "dropped" for turn in turns):
                return say("the last answer could not be posted here")
        return None

    def _is_owned(self, one: Schedule) -> bool:
        """True if somebody whose role counts made it: in a chat, or with an account on the page."""
        return is_owned(one) or one.by.id in self._access.page_users

    def _may(self, one: Schedule, room: Room) -> bool:
        """True if its author may still ask, and still schedule."""
        entry = entry_of("every")
        role = self._access.role(room, one.by.id, one.persona)
        invokes = self._access.may_invoke(room, one.by.id, one.persona)
        return invokes and entry is not None and reaches(role, entry.role)

    async def _pause(self, one: Schedule, why: str) -> None:
        self._count("paused")
        log.warning("schedule.paused", id=one.seq, room=one.room_id, reason=why)
        await self._schedules.stop_for(one, why)


def _late(one: Schedule, due: datetime) -> str:
    at = due.astimezone(ZoneInfo(one.timezone))
    again = "" if one.cron else say(", once")
    return say(
        "⏰ Late: {seq} ({words}{again}) was due {at}; I was down.",
        seq=one.seq,
        words=one.words,
        again=again,
        at=f"{at:%Y-%m-%d %H:%M}",
    )
