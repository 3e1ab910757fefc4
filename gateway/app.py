"""The house put together: opened from the ground up, closed in reverse."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from typing import Any

from adapters.hooks import HookListener
from bots.bot import Bot
from composer.headings import HEADINGS
from gateway.access import Access
from gateway.access_desk import AccessDesk
from gateway.accounts import Accounts
from gateway.admissions import Admissions
from gateway.audit import Audit
from gateway.audit_anchor import ANCHOR
from gateway.backup import back_up_daily
from gateway.books import Books
from gateway.briefings import Briefings
from gateway.clock import clock
from gateway.commands import Commands, Hand
from gateway.config import Config
from gateway.desk import Desk
from gateway.door import Door
from gateway.doorman import Access as PageAccess
from gateway.ending import Ends, finish
from gateway.events import Bus
from gateway.handover import HandOver
from gateway.happenings import (
    AccessChanged,
    BotsChanged,
    Happening,
    PersonasChanged,
    Remembered,
    Stopping,
)
from gateway.idle import Idle
from gateway.indexes import open_configured
from gateway.learning import learning
from gateway.ledger import Turn
from gateway.limits import Limits
from gateway.local_sessions import LocalSessions
from gateway.lock import hold, tell_address
from gateway.marks import Marks
from gateway.memories import LEARN_AFTER_S, Memories
from gateway.memory_door import MemoryDoor
from gateway.metering import memory_bytes, most_sessions
from gateway.metrics import Metrics
from gateway.model_commands import ModelCommands
from gateway.models import open_model
from gateway.nightly import nightly
from gateway.opening import Opener
from gateway.overseer import Overseer
from gateway.page import PageSettings, open_page
from gateway.people import People
from gateway.permits import Permits
from gateway.persona_api import PersonaApi
from gateway.persona_commands import PersonaCommands
from gateway.persona_desk import PersonaDesk
from gateway.persona_versions import Versions
from gateway.personas import Personas
from gateway.pin_commands import PinCommands, Suggestions
from gateway.platform_pins import PlatformPins
from gateway.platforms import make_bots
from gateway.presence import Presence
from gateway.private_folders import keep_private
from gateway.programs import Programs, agent_names
from gateway.questions import Questions
from gateway.redaction import Redactor
from gateway.rehearsal import Rehearsal
from gateway.remember_commands import RememberCommands
from gateway.role_commands import RoleCommands
from gateway.room_memory import RoomMemories
from gateway.room_settings import RoomSettings
from gateway.rooms import Rooms
from gateway.roster import Rosters
from gateway.sandboxing import Sandboxing, any_wanted
from gateway.schedule_commands import ScheduleCommands
from gateway.schedule_desk import ScheduleDesk
from gateway.schedule_rows import ScheduleRows
from gateway.schedules import Schedules
from gateway.service_manager import Notify, keep_alive, nobody
from gateway.sessions import Program
from gateway.sql_ledger import SqlLedger
from gateway.status_commands import StatusCommands
from gateway.subject import about_also
from gateway.supervisor import Supervisor
from gateway.telemetry import Telemetry, open_telemetry
from gateway.trail import Trails
from gateway.turn import Middle
from gateway.usage import UsageBook
from gateway.usage_commands import UsageCommands
from gateway.window import Windows
from memory.index import Index
from memory.layer import Interaction, Session
from memory.model import Model
from memory.store import Store
from memory.transcript import Transcript

log = logging.getLogger("moot.app")


class _Stop(Exception):
    """Ends the group of all tasks."""


async def run(
    config: Config,
    environment: Mapping[str, str],
    *,
    started: Callable[[str], None],
    stop: asyncio.Event,
    redactor: Redactor | None = None,
    at_once: asyncio.Event | None = None,
    notify: Notify = nobody,
) -> None:
    """Run Moot until `stop` is set. `started` is told the page's address.

    Turns that run then may go on for `[gateway] shutdown_s`, or until `at_once` is set; what is not
    over is taken up again by the next start. notify: see gateway/service_manager.py.
    redactor: knows the secrets of both; without it none is known.
    """
    ends = Ends(stop, at_once or asyncio.Event())
    keep_private(config.gateway.data_dir)
    with hold(config.gateway.data_dir):
        await _run(config, environment, started, ends, notify, redactor or Redactor())


async def _run(
    config: Config,
    environment: Mapping[str, str],
    started: Callable[[str], None],
    ends: Ends,
    notify: Notify,
    redactor: Redactor,
) -> None:
    metrics = Metrics()
    personas = Personas(config.personas_folder, tuple(HEADINGS), agent_names(config.agents))
    access = Access(config.access)
    bots = make_bots(config, environment, personas, access)
    gc.freeze()  # what is imported stays: to look through it for garbage takes 80 ms each time
    async with (
        open_model(config, environment) as model,
        Store.open(config.store_url) as store,
        open_configured(config) as index,
        open_telemetry(config.telemetry, environment, redactor) as telemetry,
        HookListener.open() as hooks,
    ):
        sessions: LocalSessions | None = None
        try:
            async with asyncio.TaskGroup() as group:
                house = House(
                    config,
                    group=group,
                    store=store,
                    personas=personas,
                    bots=bots,
                    programs=Programs(config.agents, environment, hooks, metrics.disagreed),
                    index=index,
                    model=model,
                    page_token=environment.get("MOOT_TOKEN") or None,
                    hooks=hooks,
                    metrics=metrics,
                    access=access,
                    sandboxing=Sandboxing(config, environment.get("PATH", "")),
                    redactor=redactor,
                    telemetry=telemetry,
                )
                sessions = house.sessions
                await house.serve(started, ends, notify)
                raise _Stop
        except* _Stop:
            pass
        finally:
            if sessions is not None:
                await sessions.close()


class House:
    """Every room of one gateway, wired."""

    def __init__(
        self,
        config: Config,
        *,
        group: asyncio.TaskGroup,
        store: Store,
        personas: Personas,
        bots: Mapping[str, Bot],
        programs: Callable[[str], Program],
        index: Index | None = None,
        model: Model | None = None,
        page_token: str | None = None,
        hooks: HookListener | None = None,
        learn_after_s: float = LEARN_AFTER_S,
        metrics: Metrics | None = None,
        access: Access | None = None,
        sandboxing: Sandboxing | None = None,
        redactor: Redactor | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._config = config
        self._redactor = redactor or Redactor()
        self._telemetry = telemetry
        self._trails = Trails(telemetry.turn) if telemetry else Trails()
        self._group = group
        self.bus = Bus()
        self.metrics = metrics or Metrics()
        self.personas = personas
        self.bots = bots
        self.transcript = Transcript(store)
        self.ledger = SqlLedger(store, self.transcript)
        self.settings = RoomSettings(store, clock)
        self.presence = Presence(store, self.transcript, clock)
        self.accounts = Accounts(bots, personas, self.presence)
        self.access = access or Access(config.access)
        self.audit = Audit(store, clock, config.gateway.data_dir / ANCHOR)
        self.admissions = Admissions.over(
            store,
            self.ledger,
            self.access,
            self.audit,
            clock,
            start=self._start,
            changed=lambda: self._publish(AccessChanged()),
        )
        self.persona_desk = self._persona_desk(store)
        self.questions = Questions(
            ledger=self.ledger,
            access=self.access,
            audit=self.audit,
            publish=self._publish,
            clock=clock,
            timeout_s=config.turns.question_timeout_s,
            clean=self._redactor.clean,
            decided=self.metrics.decided,
        )
        self.usage = UsageBook(store, clock, config.gateway.zone, config.prices)
        self.books = self._books(store)
        self._has_model = model is not None
        self._sandboxing = sandboxing
        self.memories = self._memories(store, index, model, learn_after_s)
        self.sessions = self._sessions(programs, hooks)
        self.metrics.watch_learning(self.memories.layers.learning)
        self.url = ""
        self.schedules = self._schedules(store)
        self._marks = Marks(group, bots, config.turns.marks)
        self.rooms = self._rooms()
        self.idle = self._idle()
        self.door = self._door()
        self.supervisor = self._supervisor()
        self.desk = self._desk()
        self._page = PageSettings(
            files=config.gateway.data_dir / "files",
            host=config.gateway.host,
            port=config.gateway.port,
            access=PageAccess(token=page_token),
            redactor=self._redactor,
            metrics=config.telemetry.metrics,
            encloses=lambda: any_wanted(config, personas),
        )

    def _persona_desk(self, store: Store) -> PersonaDesk:
        return PersonaDesk(
            self.personas,
            Versions(store, clock),
            own_folder=self._config.gateway.personas_dir,
            note=self.audit.note,
            changed=lambda: self._publish(PersonasChanged()),
        )

    def _books(self, store: Store) -> Books:
        config = self._config
        limits = Limits(
            config.limits, store=store, access=self.access, clock=clock, zone=config.gateway.zone
        )
        return Books(
            audit=self.audit,
            usage=self.usage,
            limits=limits,
            ledger=self.ledger,
            transcript=self.transcript,
            count=self.metrics.usage.took,
            clock=clock,
        )

    def _memories(
        self, store: Store, index: Index | None, model: Model | None, learn_after_s: float
    ) -> Memories:
        config = self._config
        return Memories(
            config.memory,
            store=store,
            index=index,
            model=model,
            spawn=self._spawn,
            learned=lambda room_id: self._publish(Remembered(room_id)),
            called=self.metrics.called,
            clock=clock,
            zone=config.gateway.zone,
            budget=config.budget.budget(),
            own_workspaces=config.gateway.data_dir / "scopes",
            learn_after_s=learn_after_s,
            clean=self._redactor,
            about=self._learning,
        )

    def _learning(self, told: Interaction | Session) -> AbstractContextManager[None]:
        return learning(told, self._telemetry)

    def _sessions(
        self, programs: Callable[[str], Program], hooks: HookListener | None
    ) -> LocalSessions:
        config = self._config
        opener = Opener(
            programs=programs,
            ledger=self.ledger,
            data_dir=config.gateway.data_dir,
            clock=clock,
            sandboxing=self._sandboxing,
            memory_door=(
                MemoryDoor(hooks, self.memories.tools, self._spawn)
                if hooks and config.memory.mcp
                else None
            ),
        )
        return LocalSessions(
            opener=opener,
            ledger=self.ledger,
            clock=clock,
            counts=self.metrics,
            most=config.sessions.most or most_sessions(memory_bytes()),
            sleep_s=config.sessions.sleep_s,
            as_set=self.settings.applied,
        )

    def _idle(self) -> Idle:
        return Idle(
            ledger=self.ledger,
            remember=self.memories.layers.remember,
            busy=self.rooms.busy,
            spawn=self._spawn,
            idle_s=self._config.memory.idle_s,
            clock=clock,
        )

    def _rooms(self) -> Rooms:
        return Rooms(
            group=self._group,
            middle=self._middle(),
            ledger=self.ledger,
            transcript=self.transcript,
            personas=self.personas,
            accounts=self.accounts,
            bots=self.bots,
            commands=self._commands(),
            marks=self._marks,
            publish=self._publish,
            clock=clock,
        )

    def _commands(self) -> Commands:
        return Commands(
            ledger=self.ledger,
            sessions=self.sessions,
            questions=self.questions,
            permits=Permits(self.access, self.audit),
            hands=self._hands(),
            page_url=lambda: self.url,
            ended=lambda ended: self.idle.end(ended),
        )

    def _hands(self) -> Mapping[str, Hand]:
        """Who carries out which commands: the `by` of the table."""
        memories = self.memories
        remembering = RememberCommands(
            memories.keeper,
            transcript=self.transcript,
            sessions=self.sessions,
            access=self.access,
            has_model=self._has_model,
            zone=self._config.gateway.zone,
        )
        return {
            "pins": PinCommands(memories.landmarks, memories.slices, self.transcript).run,
            "memory": remembering.run,
            "recall": memories.recalling.run,
            "usage": UsageCommands(self.usage, self.access, clock, self._config.gateway.zone).run,
            "model": ModelCommands(self.settings, self.sessions.program).run,
            "status": self._status().run,
            "schedules": ScheduleCommands(self.schedules, self.access, clock).run,
            "personas": PersonaCommands(
                self.persona_desk,
                self.access,
                self._config.gateway.zone,
                page_url=lambda: self.url,
            ).run,
            "roles": RoleCommands(
                self.access,
                self.admissions.grants,
                self.admissions.pairings,
                People(self.transcript, Rosters(self._group), self.bots),
            ).run,
        }

    def _schedules(self, store: Store) -> Schedules:
        return Schedules(
            ScheduleRows(store),
            door=lambda: self.door,
            ledger=self.ledger,
            transcript=self.transcript,
            access=self.access,
            personas=self.personas,
            bots=self.bots,
            table=self._config.scheduling,
            zone=self._config.gateway.zone,
            clock=clock,
            note=self.audit.note,
        )

    def _status(self) -> StatusCommands:
        return StatusCommands(
            sessions=self.sessions,
            settings=self.settings,
            ledger=self.ledger,
            transcript=self.transcript,
            access=self.access,
            bots=self.bots,
            queue=lambda persona, scope: self.rooms.queue(persona, scope),
            clock=clock,
        )

    def _door(self) -> Door:
        return Door(
            rooms=self.rooms,
            ledger=self.ledger,
            transcript=self.transcript,
            personas=self.personas,
            accounts=self.accounts,
            presence=self.presence,
            access=self.access,
            strangers=self.admissions.strangers,
            questions=self.questions,
            books=self.books,
            pins=self._pins(),
            publish=self._publish,
            clock=clock,
            mention_free=frozenset(
                bot.name or bot.platform for bot in self._config.bots if not bot.require_mention
            ),
            max_hops=self._config.turns.max_hops,
            heard=self.memories.hearing.heard,
            changed=self.memories.hearing.changed,
            trails=self._trails,
            refused=self.metrics.refused,
        )

    def _supervisor(self) -> Supervisor:
        made = Supervisor(self.bots.values(), changed=lambda: self._publish(BotsChanged()))
        for name, health in made.health.items():
            self.metrics.watch_bot(name, health)
        return made

    def _pins(self) -> PlatformPins:
        return PlatformPins(
            landmarks=self.memories.landmarks,
            slices=self.memories.slices,
            transcript=self.transcript,
            ledger=self.ledger,
            personas=self.personas,
            accounts=self.accounts,
            access=self.access,
            changed=lambda room_id: self._publish(Remembered(room_id)),
            clock=clock,
        )

    def _desk(self) -> Desk:
        return Desk(
            door=self.door,
            rooms=self.rooms,
            transcript=self.transcript,
            ledger=self.ledger,
            sessions=self.sessions,
            personas=self.personas,
            questions=self.questions,
            bus=self.bus,
            bots=self.bots,
            metrics=self.metrics,
            memory=RoomMemories(self.memories.store, self.transcript, self.memories.recall),
            schedules=ScheduleDesk(
                self.schedules, self.transcript, self.personas, self.bots, clock
            ),
            audit=self.audit,
            usage=self.usage,
            roles=AccessDesk(self.access, self.admissions, self.transcript),
            admin=self._overseer(),
            clock=clock,
        )

    def _overseer(self) -> Overseer:
        config = self._config
        return Overseer(
            store=self.memories.store,
            transcript=self.transcript,
            sessions_here=self.sessions,
            personas=self.personas,
            questions=self.questions,
            health=self.supervisor.health,
            data_dir=config.gateway.data_dir,
            database=config.database_file,
            zone=config.gateway.zone,
            waiting=self.rooms.waiting,
            ended=lambda ended: self.idle.end(ended),
            audit=self.audit,
            clock=clock,
        )

    def _middle(self) -> Middle:
        windows = Windows(
            self.transcript,
            self.memories.episodes.covered,
            self._config.budget.budget(),
            self._config.turns.full_window,
        )
        rosters = Rosters(self._group)
        briefings = self._briefings(windows, rosters)
        self.persona_api = PersonaApi(self.persona_desk, self._rehearsal(briefings, windows))
        return Middle(
            transcript=self.transcript,
            windows=windows,
            layers=self.memories.layers,
            briefings=briefings,
            hand_over=HandOver(
                self.accounts,
                rosters,
                self._config.turns.max_hops,
                self.access,
                self.admissions.strangers,
                self.transcript,
                self.ledger,
            ),
            suggest=self._suggestions().after,
            ledger=self.ledger,
            sessions=self.sessions,
            personas=self.personas,
            bots=self.bots,
            presence=self.presence,
            questions=self.questions,
            marks=self._marks,
            books=self.books,
            publish=self._publish,
            measure=self.metrics.ended,
            clock=clock,
            limits=self._config.turns,
            version=self.persona_desk.number,
            redactor=self._redactor,
            trails=self._trails,
            waited=self.metrics.waited,
        )

    def _rehearsal(self, briefings: Briefings, windows: Windows) -> Rehearsal:
        return Rehearsal(
            briefings=briefings,
            windows=windows,
            transcript=self.transcript,
            personas=self.personas,
            bots=self.bots,
            opener=self.sessions.opener,
            data_dir=self._config.gateway.data_dir,
            clock=clock,
        )

    def _briefings(self, windows: Windows, rosters: Rosters) -> Briefings:
        return Briefings(
            transcript=self.transcript,
            windows=windows,
            layers=self.memories.layers,
            members=self.memories.members,
            bots=self.bots,
            accounts=self.accounts,
            rosters=rosters,
            timezone=self._config.gateway.timezone,
            budget=self._config.budget.budget(),
            max_hops=self._config.turns.max_hops,
        )

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        with about_also():  # a turn's, also when its session is at the next one
            return self._group.create_task(work, name=name)

    def _suggestions(self) -> Suggestions:
        enabled = self._config.memory.suggest_pins
        return Suggestions(self.transcript, self.memories.slices, clock, enabled=enabled)

    def _start(self, turn: Turn, message_id: str, content: str) -> None:
        """Begin what a decision made; with a bot that moot.toml names no more there is nothing."""
        if turn.bot in self.bots:
            self.rooms.start(turn, message_id, content)

    def _publish(self, happening: Happening) -> None:
        self.metrics.heard(happening)
        self.bus.publish(happening)

    async def serve(
        self, started: Callable[[str], None], ends: Ends, notify: Notify = nobody
    ) -> None:
        """Take up what an earlier process left, then serve until the end."""
        await self.admissions.load()
        await self.audit.started(self._config.file)
        await self.desk.open_lobby()
        self.memories.hearing.begin()
        recovered = await self.rooms.recover()
        if recovered:
            log.info("turns.recovered count=%d", recovered)
        self._group.create_task(self.idle.run(), name="idle sessions")
        self._group.create_task(self.sessions.run(), name="sleeping sessions")
        await self.schedules.take_configured(self._config.schedules)
        self._group.create_task(self.schedules.run(), name="schedules")
        for bot in self.bots.values():
            self._group.create_task(
                self.supervisor.run(bot, self.door.receive), name=f"bot {bot.name}"
            )
        if (at := self._config.memory.consolidates) is not None:
            work = self.memories.consolidation.run_all
            zone = self._config.gateway.zone
            tidying = nightly(work, at=at, zone=zone, clock=clock)
            self._group.create_task(tidying, name="memory consolidates")
        if (at := self._config.backup.at) is not None:
            copying = nightly(
                lambda: back_up_daily(self._config, clock()),
                at=at,
                zone=self._config.gateway.zone,
                clock=clock,
            )
            self._group.create_task(copying, name="daily back-up")
        webhooks = [route for bot in self.bots.values() for route in bot.routes()]
        await self.persona_desk.catch_up()
        more = self.persona_api.routes()
        async with open_page(self.desk, self._page, webhooks, more) as url:
            self.url = url
            tell_address(self._config.gateway.data_dir, url)
            started(url)
            self._group.create_task(keep_alive(notify), name="watchdog")
            notify(f"READY=1\nSTATUS=serving {url}")
            await ends.stop.wait()
            notify("STOPPING=1\nSTATUS=finishing what runs")
            self._publish(Stopping())
            await finish(self.rooms, self._config.gateway.shutdown_s, ends.at_once)
            self.bus.close()
