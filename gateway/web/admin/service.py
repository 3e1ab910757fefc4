"""The administrator's side: is all well, what happened, and what sessions do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from contract.chat import Room, Speaker
from contract.language import say
from contract.values import dataclass
from gateway.alerts.alerts import Alerts
from gateway.audit.audit import Audit
from gateway.core.views import RoomView
from gateway.observability.bot_health import BotHealth
from gateway.observability.metering import Taken, measure
from gateway.questions.questions import Questions
from gateway.remembering.idle import IdleSessions
from gateway.sessions.pool import SessionPool
from gateway.sessions.room_settings import RoomSettings
from gateway.sessions.sessions import LiveSession
from gateway.settings.personas.personas import Personas
from gateway.web import records
from gateway.web.admin.embedder import EmbedderAdmin
from gateway.web.admin.room_figures import NOTHING, room_choices, rooms_lately, spent_since
from gateway.web.admin.statistics import days_of, last_day
from gateway.web.admin.turn_pages import failed_since, page_of_turns
from gateway.web.admin.values import (
    Acted,
    AlertView,
    BotView,
    Day,
    Disk,
    Problem,
    RoomLine,
    SessionAct,
    SessionLine,
    Summary,
    Today,
    TurnLine,
    TurnPage,
    WantedTurns,
)
from store.database import Store
from store.health import REMEDY, WHY, StoreRefusal
from store.timestamps import micros
from store.transcript import Transcript

LATELY_DAYS = 7  # what a room's list counts
FAILED = 20  # shown of the last day; the list of turns has them all
DAY = timedelta(days=1)
LOW_DISK_BYTES = 1 << 30  # a busy Moot writes tens of MB a day: weeks of warning
LEAST_DISK_BYTES = 100 << 20


@dataclass(frozen=True, slots=True)
class Activity:
    """Recent activity in rooms, turns and days, read from the store. waiting: tells how many turns
    wait or run."""

    store: Store
    transcript: Transcript
    settings: RoomSettings
    zone: ZoneInfo
    clock: Callable[[], datetime]
    waiting: Callable[[], int]

    async def last_day(self) -> tuple[Sequence[TurnLine], Today]:
        """The turns that failed in the last 24 hours, newest first, and the totals of these hours;
        without them where the database can't be read: that it can't is shown then."""
        now = self.clock()
        since, until = micros(now - DAY), micros(now) + 1
        waiting = self.waiting()
        try:
            failed = await self.store.read(lambda c: failed_since(c, since, FAILED))
            return failed, await self.store.read(lambda c: last_day(c, since, until, waiting))
        except StoreRefusal:
            return (), Today(0, 0, None, waiting)

    async def rooms(self) -> Sequence[RoomLine]:
        """Every room, the one with the newest message first."""
        since = micros(self.clock() - LATELY_DAYS * DAY)
        known = await self.transcript.rooms()
        lately = await self.store.read(lambda c: rooms_lately(c, since))
        kept, models = await self.store.read(room_choices)
        return [
            RoomLine(
                room=RoomView(room, at),
                platform=room.source,
                people=found.people,
                more_people=found.more_people,
                personas=found.personas,
                messages=found.messages,
                days=LATELY_DAYS,
                in_memory=kept.get(room.id, True),
                models=models.get(_scope(room), {}),
                follow=self.settings.follow(room),
                require_mention=self.settings.chosen_mention(room),
            )
            for room, at in known
            for found in [lately.get(room.id, NOTHING)]
        ]

    async def turns(self, wanted: WantedTurns, *, before: int, limit: int) -> TurnPage:
        """Turns with a seq below `before`, newest first."""
        return await self.store.read(lambda c: page_of_turns(c, wanted, before=before, limit=limit))

    async def days(self, count: int) -> Sequence[Day]:
        """The last so many days, oldest first; the last is today."""
        today = self.clock().astimezone(self.zone).date()
        days = [today - back * DAY for back in range(count - 1, -1, -1)]
        begins = [datetime(d.year, d.month, d.day, tzinfo=self.zone) for d in [*days, today + DAY]]
        bounds = [micros(at) for at in begins]
        return await self.store.read(lambda c: days_of(c, days, bounds))


@dataclass(frozen=True, slots=True)
class SessionAdmin:
    """Living sessions, and what an administrator does with them."""

    pool: SessionPool
    store: Store
    audit: Audit
    idle: IdleSessions

    async def all(self) -> Sequence[SessionLine]:
        """Living sessions, the one used last first."""
        living = sorted(self.pool.all(), key=lambda live: live.used_at, reverse=True)
        pids = [live.agent.pid for live in living if live.agent.pid is not None]
        taken = await asyncio.to_thread(measure, pids)
        return [await self._line(live, taken.get(live.agent.pid or 0)) for live in living]

    async def _line(self, live: LiveSession, taken: Taken | None) -> SessionLine:
        since = micros(live.started_at)
        tokens, cost_usd = await self.store.read(
            lambda c: spent_since(c, live.room.id, live.persona, since), small=True
        )
        return SessionLine(
            session=records.session(live),
            room_name=live.room.name,
            room_kind=live.room.kind,
            agent=live.context.program.title,
            used_at=live.used_at,
            memory_bytes=taken.memory_bytes if taken else None,
            cpu_s=taken.cpu_s if taken else None,
            tokens=tokens,
            cost_usd=cost_usd,
        )

    async def act(self, session_id: str, act: SessionAct, by: Speaker) -> Acted:
        """Stop what a session does, let its next turn begin a new one, or suspend it."""
        live = next((one for one in self.pool.all() if one.key.id == session_id), None)
        if live is None:
            return "unknown"
        acted = await self._act(live, act)
        if acted == "done":
            await self.audit.note(f"session_{act}", by, persona=live.persona, room=live.room)
        return acted

    async def _act(self, live: LiveSession, act: SessionAct) -> Acted:
        match act:
            case "stop":
                stopped = await self.pool.interrupt(live.key)
                return "done" if stopped else "nothing"
            case "renew":
                ended = await self.pool.renew(live.key)
                if ended is not None:
                    self.idle.end(ended)
                return "done"
            case "sleep":
                return "done" if self.pool.sleep(live) else "busy"


@dataclass(frozen=True, slots=True)
class DataDisk:
    """The data folder. database: its file; None where it is not a file."""

    folder: Path
    database: Path | None

    def measure(self) -> Disk:
        """The free space, and the size of the database. Touches the disk."""
        usage = shutil.disk_usage(self.folder if self.folder.exists() else self.folder.anchor)
        size = None
        if self.database is not None and self.database.exists():
            log = self.database.with_name(f"{self.database.name}-wal")
            size = sum(file.stat().st_size for file in (self.database, log) if file.exists())
        return Disk(usage.free, usage.total, size)


@dataclass(frozen=True, slots=True)
class AdminOverview:
    """Is all well? health: of each bot by its name. unconfined: sentences about agents that run
    without a sandbox, by their personas."""

    activity: Activity
    sessions: SessionPool
    personas: Personas
    questions: Questions
    health: Mapping[str, BotHealth]
    disk: DataDisk
    unconfined: Callable[[], Mapping[str, str]]
    alerts: Alerts

    async def summary(self) -> Summary:
        """The state of everything, and what waits for somebody."""
        failed, today = await self.activity.last_day()
        disk = await asyncio.to_thread(self.disk.measure)
        bots = self.bots()
        return Summary(
            at=self.activity.clock(),
            bots=bots,
            problems=[
                *await self._store_refuses(),
                *_bots_down(bots),
                *self._personas_wrong(),
                *_disk_low(disk),
            ],
            alerts=[AlertView(one.trouble.in_words(), one.since) for one in self.alerts.raised],
            alerts_told=self.alerts.are_told,
            questions=self.questions.all_open(),
            failed=failed,
            today=today,
            sessions=self.sessions.running,
            asleep=self.sessions.asleep,
            most_sessions=self.sessions.most,
            disk=disk,
        )

    async def _store_refuses(self) -> list[Problem]:
        if (state := await self.activity.store.health.look()) == "ok":
            return []
        told = (say(words[state]) for words in (WHY, REMEDY))
        text, remedy = (f"{words[0].upper()}{words[1:]}." for words in told)
        return [Problem("database", "database", text, remedy)]

    def bots(self) -> Sequence[BotView]:
        """Every bot, in the order of the configuration."""
        return [
            BotView(
                name=name,
                platform=health.bot.platform,
                personas=tuple(health.bot.personas),
                state=health.state,
                since=health.since,
                event_at=health.event_at,
                error=health.error,
                error_at=health.error_at,
                restarts=health.restarts,
            )
            for name, health in self.health.items()
        ]

    def _personas_wrong(self) -> list[Problem]:
        """Files that can't be read as they stand, and agents that aren't there."""
        self.personas.refresh()
        remedy = say("Fix the file; until then the last good form answers.")
        wrong = [
            Problem("persona", name, text, remedy) for name, text in self.personas.problems.items()
        ]
        for persona in self.personas.good.values():
            program = self.sessions.program(persona)
            if not program.available:
                text = say(
                    "@{persona} can't answer: {title} is not there.",
                    persona=persona.name,
                    title=program.title,
                )
                wrong.append(Problem("agent", persona.name, text, str(program.hint), grave=False))
        return [
            *wrong,
            *(Problem("sandbox", *told, grave=False) for told in self.unconfined().items()),
        ]


@dataclass(frozen=True, slots=True)
class AdminServices:
    """The administrator's side of the page. Whoever reaches it is an owner."""

    overview: AdminOverview
    activity: Activity
    sessions: SessionAdmin
    embedder: EmbedderAdmin | None = None


def _scope(room: Room) -> str:
    return f"{'gdm' if room.kind == 'gdm' else 'room'}:{room.id}"


def _bots_down(bots: Sequence[BotView]) -> list[Problem]:
    remedy = say("It is tried again by itself; `moot check` asks the platform what is missing.")
    return [Problem("bot", bot.name, _down(bot), remedy) for bot in bots if bot.state == "down"]


def _down(bot: BotView) -> str:
    why = bot.error or say("it has not started")
    return say("{bot} is down: {why}", bot=bot.name, why=why)


def _disk_low(disk: Disk) -> list[Problem]:
    if disk.free_bytes >= LOW_DISK_BYTES:
        return []
    text = say("{mb} MB are free where the data lies.", mb=disk.free_bytes >> 20)
    remedy = say("Make room: a full disk stops every answer.")
    return [Problem("disk", "disk", text, remedy, disk.free_bytes < LEAST_DISK_BYTES)]
