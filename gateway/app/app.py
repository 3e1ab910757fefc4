"""One gateway, wired: a table of its parts, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from adapters.cli.hooks import HookListener
from bots.bot import Bot
from gateway.access.access import Access
from gateway.access.permits import Permits
from gateway.app.access import make_admissions, make_books, make_questions
from gateway.app.context import Context
from gateway.app.ending import Ends, finish
from gateway.app.handlers import make_handlers
from gateway.app.jobs import begin_jobs, make_supervisor
from gateway.app.memory import make_idle, make_memories
from gateway.app.page import make_desk, make_overseer, make_page_settings
from gateway.app.service_manager import Notify, keep_alive, nobody
from gateway.app.sessions import make_persona_desk, make_sessions
from gateway.app.turns import (
    make_intake,
    make_prompts,
    make_queues,
    make_rehearsal,
    make_runner,
    make_schedules,
    make_visibility,
)
from gateway.core.clock import clock
from gateway.core.events import Stopping
from gateway.core.lock import tell_address
from gateway.core.redaction import Redactor
from gateway.observability.metrics import Metrics
from gateway.observability.telemetry import Telemetry
from gateway.remembering.memories import LEARN_AFTER_S
from gateway.sessions.room_settings import RoomSettings
from gateway.sessions.sandbox import Sandboxing
from gateway.sessions.sessions import AgentProgram
from gateway.settings.config import Config
from gateway.settings.personas.personas import Personas
from gateway.turns.commands import CommandRunner, Commands
from gateway.turns.progress import TurnProgress
from gateway.turns.turn import TurnRunner
from gateway.web.page import open_page
from gateway.web.persona_api import PersonaApi
from memory.model import Model
from memory.recall.index import Index
from store.database import Store

log = structlog.stdlib.get_logger("moot.app")


class App:
    """Every part of one gateway, in the order in which they are made."""

    def __init__(
        self,
        config: Config,
        *,
        group: asyncio.TaskGroup,
        store: Store,
        personas: Personas,
        bots: Mapping[str, Bot],
        programs: Callable[[str], AgentProgram],
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
        ground = self._ground = Context(
            config,
            group=group,
            store=store,
            personas=personas,
            bots=bots,
            access=access or Access(config.access),
            metrics=metrics or Metrics(),
            redactor=redactor or Redactor(),
            telemetry=telemetry,
        )
        self.bus = ground.bus
        self.metrics = ground.metrics
        self.personas = ground.personas
        self.bots = bots
        self.transcript = ground.transcript
        self.ledger = ground.ledger
        self.access = ground.access
        self.audit = ground.audit
        self.url = ""

        # Who may do what, and what is written down of it
        self.rooms, progress = make_queues(ground, config.turns)
        self.admissions = make_admissions(ground, self.rooms.start)
        self.questions = make_questions(ground)
        self.books = make_books(ground)
        self.usage = self.books.usage

        # What is remembered, and who answers
        self.memories = make_memories(ground, index, model, learn_after_s)
        self.settings = RoomSettings(store, clock)
        self.persona_desk = make_persona_desk(ground)
        self.sessions = make_sessions(
            ground,
            self.settings,
            self.memories,
            programs=programs,
            hooks=hooks,
            sandboxing=sandboxing,
        )

        # The way of a message
        self.visibility = make_visibility(ground, self.memories)
        self.prompts = make_prompts(ground, self.memories)
        self.idle = make_idle(ground, self.memories, self.rooms.busy)
        self.door = make_intake(
            ground,
            self.rooms,
            self.memories,
            admissions=self.admissions,
            questions=self.questions,
            books=self.books,
        )
        self.schedules = make_schedules(ground, self.door)
        self.rooms.serve(self._runner(progress))
        self.supervisor = make_supervisor(ground)

        # The page
        self.desk = make_desk(
            ground,
            door=self.door,
            rooms=self.rooms,
            sessions=self.sessions,
            questions=self.questions,
            memories=self.memories,
            schedules=self.schedules,
            books=self.books,
            admissions=self.admissions,
            admin=make_overseer(
                ground,
                sessions=self.sessions,
                questions=self.questions,
                supervisor=self.supervisor,
                rooms=self.rooms,
                idle=self.idle,
            ),
        )
        self.persona_api = PersonaApi(
            self.persona_desk, make_rehearsal(ground, self.visibility, self.prompts, self.sessions)
        )
        self._page = make_page_settings(ground, page_token)

    def _runner(self, progress: TurnProgress) -> TurnRunner:
        ground = self._ground
        return make_runner(
            ground,
            self.sessions,
            self.memories,
            commands=CommandRunner(
                self._commands(),
                ground.transcript,
                ground.personas,
                ground.accounts,
                self.rooms,
            ),
            visibility=self.visibility,
            prompts=self.prompts,
            persona_desk=self.persona_desk,
            admissions=self.admissions,
            questions=self.questions,
            books=self.books,
            progress=progress,
        )

    def _commands(self) -> Commands:
        hands = make_handlers(
            self._ground,
            memories=self.memories,
            sessions=self.sessions,
            settings=self.settings,
            persona_desk=self.persona_desk,
            schedules=self.schedules,
            admissions=self.admissions,
            usage=self.usage,
            queue=self.rooms.queue,
            page_url=lambda: self.url,
        )
        return Commands(
            ledger=self.ledger,
            sessions=self.sessions,
            questions=self.questions,
            permits=Permits(self.access, self.audit),
            hands=hands,
            page_url=lambda: self.url,
            ended=self.idle.end,
        )

    async def serve(
        self, started: Callable[[str], None], ends: Ends, notify: Notify = nobody
    ) -> None:
        """Take up what an earlier process left, then serve until the end."""
        config = self._ground.config
        await self._take_up()
        begin_jobs(
            self._ground,
            idle=self.idle,
            sessions=self.sessions,
            schedules=self.schedules,
            memories=self.memories,
            supervisor=self.supervisor,
            door=self.door,
        )
        await self.persona_desk.catch_up()
        webhooks = [route for bot in self.bots.values() for route in bot.routes()]
        async with open_page(self.desk, self._page, webhooks, self.persona_api.routes()) as url:
            self.url = url
            tell_address(config.gateway.data_dir, url)
            started(url)
            self._ground.group.create_task(keep_alive(notify), name="watchdog")
            notify(f"READY=1\nSTATUS=serving {url}")
            await ends.stop.wait()
            notify("STOPPING=1\nSTATUS=finishing what runs")
            self._ground.publish(Stopping())
            await finish(self.rooms, config.gateway.shutdown_s, ends.at_once)
            self.bus.close()

    async def _take_up(self) -> None:
        """Take up what an earlier process left, and what the configuration says now."""
        config = self._ground.config
        await self.admissions.load()
        await self.audit.started(config.file)
        await self.desk.open_lobby()
        self.memories.hearing.begin()
        recovered = await self.rooms.recover()
        if recovered:
            log.info("turns.recovered", count=recovered)
        await self.schedules.take_configured(config.schedules)
