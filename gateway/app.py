"""The house put together: opened from the ground up, closed in reverse."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from adapters.hooks import HookListener
from bots.bot import Bot
from composer.headings import HEADINGS
from gateway.access import Access
from gateway.accounts import Accounts
from gateway.briefings import Briefings
from gateway.clock import clock
from gateway.commands import Commands
from gateway.config import Config
from gateway.desk import Desk
from gateway.door import Door
from gateway.doorman import Access as PageAccess
from gateway.ending import Ends, finish
from gateway.events import Bus
from gateway.handover import HandOver
from gateway.happenings import Happening, Remembered, Stopping
from gateway.idle import Idle
from gateway.indexes import open_configured
from gateway.local_sessions import LocalSessions
from gateway.lock import hold
from gateway.marks import Marks
from gateway.memories import LEARN_AFTER_S, Memories
from gateway.memory_door import MemoryDoor
from gateway.metering import memory_bytes, most_sessions
from gateway.metrics import Metrics
from gateway.models import open_model
from gateway.nightly import nightly
from gateway.opening import Opener
from gateway.page import PageSettings, open_page
from gateway.personas import Personas
from gateway.pin_commands import PinCommands, Suggestions
from gateway.platform_pins import PlatformPins
from gateway.platforms import make_bots
from gateway.presence import Presence
from gateway.private_folders import keep_private
from gateway.programs import Programs
from gateway.questions import Questions
from gateway.remember_commands import RememberCommands
from gateway.room_memory import RoomMemories
from gateway.rooms import Rooms
from gateway.roster import Rosters
from gateway.sandboxing import Sandboxing, any_wanted
from gateway.service_manager import Notify, keep_alive, nobody
from gateway.sessions import Program
from gateway.sql_ledger import SqlLedger
from gateway.supervisor import supervise
from gateway.turn import Middle
from gateway.window import Windows
from memory.index import Index
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
    at_once: asyncio.Event | None = None,
    notify: Notify = nobody,
) -> None:
    """Run Moot until `stop` is set. `started` is told the page's address.

    Turns that run then may go on for `[gateway] shutdown_s`, or until `at_once` is set; what is not
    over is taken up again by the next start. notify: see gateway/service_manager.py.
    """
    ends = Ends(stop, at_once or asyncio.Event())
    keep_private(config.gateway.data_dir)
    with hold(config.gateway.data_dir):
        await _run(config, environment, started, ends, notify)


async def _run(
    config: Config,
    environment: Mapping[str, str],
    started: Callable[[str], None],
    ends: Ends,
    notify: Notify,
) -> None:
    metrics = Metrics()
    personas = Personas(config.personas_folder, tuple(HEADINGS))
    bots = make_bots(config, environment, personas)
    gc.freeze()  # what is imported stays: to look through it for garbage takes 80 ms each time
    async with (
        open_model(config, environment) as model,
        Store.open(config.store_url) as store,
        open_configured(config) as index,
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
                    sandboxing=Sandboxing(config, environment.get("PATH", "")),
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
        sandboxing: Sandboxing | None = None,
    ) -> None:
        self._config = config
        self._group = group
        self.bus = Bus()
        self.metrics = metrics or Metrics()
        self.personas = personas
        self.bots = bots
        self.transcript = Transcript(store)
        self.ledger = SqlLedger(store, self.transcript)
        self.presence = Presence(store, self.transcript, clock)
        self.accounts = Accounts(bots, personas, self.presence)
        self.access = Access(config.access)
        self.questions = Questions(
            ledger=self.ledger,
            access=self.access,
            publish=self._publish,
            clock=clock,
            timeout_s=config.turns.question_timeout_s,
        )
        self._has_model = model is not None
        self._sandboxing = sandboxing
        self.memories = self._memories(store, index, model, learn_after_s)
        self.sessions = self._sessions(programs, hooks)
        self.metrics.watch_learning(self.memories.layers.learning)
        self.url = ""
        self._marks = Marks(group, bots, config.turns.marks)
        self.rooms = self._rooms()
        self.idle = self._idle()
        self.door = self._door()
        self.desk = self._desk()
        self._page = PageSettings(
            files=config.gateway.data_dir / "files",
            host=config.gateway.host,
            port=config.gateway.port,
            access=PageAccess(token=page_token),
            encloses=lambda: any_wanted(config, personas),
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
        )

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
        memories = self.memories
        return Commands(
            ledger=self.ledger,
            sessions=self.sessions,
            questions=self.questions,
            pins=PinCommands(memories.landmarks, memories.slices, self.transcript),
            remembering=RememberCommands(
                memories.keeper,
                transcript=self.transcript,
                sessions=self.sessions,
                access=self.access,
                has_model=self._has_model,
                zone=self._config.gateway.zone,
            ),
            recalling=memories.recalling,
            page_url=lambda: self.url,
            ended=lambda ended: self.idle.end(ended),
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
            questions=self.questions,
            pins=self._pins(),
            publish=self._publish,
            clock=clock,
            mention_free=frozenset(
                bot.name or bot.platform for bot in self._config.bots if not bot.require_mention
            ),
            max_hops=self._config.turns.max_hops,
            heard=self.memories.hearing.heard,
            changed=self.memories.hearing.changed,
        )

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
        return Middle(
            transcript=self.transcript,
            windows=windows,
            layers=self.memories.layers,
            briefings=self._briefings(windows, rosters),
            hand_over=HandOver(self.accounts, rosters, self._config.turns.max_hops),
            suggest=self._suggestions().after,
            ledger=self.ledger,
            sessions=self.sessions,
            personas=self.personas,
            bots=self.bots,
            presence=self.presence,
            questions=self.questions,
            marks=self._marks,
            publish=self._publish,
            measure=self.metrics.ended,
            clock=clock,
            limits=self._config.turns,
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
        return self._group.create_task(work, name=name)

    def _suggestions(self) -> Suggestions:
        enabled = self._config.memory.suggest_pins
        return Suggestions(self.transcript, self.memories.slices, clock, enabled=enabled)

    def _publish(self, happening: Happening) -> None:
        self.metrics.heard(happening)
        self.bus.publish(happening)

    async def serve(
        self, started: Callable[[str], None], ends: Ends, notify: Notify = nobody
    ) -> None:
        """Take up what an earlier process left, then serve until the end."""
        await self.desk.open_lobby()
        self.memories.hearing.begin()
        recovered = await self.rooms.recover()
        if recovered:
            log.info("turns.recovered count=%d", recovered)
        self._group.create_task(self.idle.run(), name="idle sessions")
        self._group.create_task(self.sessions.run(), name="sleeping sessions")
        for bot in self.bots.values():
            self._group.create_task(supervise(bot, self.door.receive), name=f"bot {bot.name}")
        if (at := self._config.memory.consolidates) is not None:
            work = self.memories.consolidation.run_all
            zone = self._config.gateway.zone
            tidying = nightly(work, at=at, zone=zone, clock=clock)
            self._group.create_task(tidying, name="memory consolidates")
        webhooks = [route for bot in self.bots.values() for route in bot.routes()]
        async with open_page(self.desk, self._page, webhooks) as url:
            self.url = url
            started(url)
            self._group.create_task(keep_alive(notify), name="watchdog")
            notify(f"READY=1\nSTATUS=serving {url}")
            await ends.stop.wait()
            notify("STOPPING=1\nSTATUS=finishing what runs")
            self._publish(Stopping())
            await finish(self.rooms, self._config.gateway.shutdown_s, ends.at_once)
            self.bus.close()
