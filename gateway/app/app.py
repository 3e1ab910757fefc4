"""One gateway, wired: a table of its parts, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING

import structlog

from adapters.cli.hooks import HookListener
from gateway.access.claims import Claim
from gateway.access.permits import Permits
from gateway.alerts.troubles import FailedBackup
from gateway.app.access import (
    make_accounting,
    make_admissions,
    make_questions,
    make_visitors,
)
from gateway.app.alerts import make_alerts
from gateway.app.behind import AFTERWARDS, HEAD_START_S, PAGE, PROGRAMS, load_behind
from gateway.app.context import Context
from gateway.app.ending import Ends, finish
from gateway.app.jobs import begin_jobs, make_supervisor
from gateway.app.memory import make_idle, make_memories
from gateway.app.platforms import make_table_follower
from gateway.app.service_manager import Notify, keep_alive, nobody
from gateway.app.sessions import (
    make_keeper,
    make_persona_service,
    make_sessions,
    make_workers,
    run_workers,
)
from gateway.app.turns import (
    make_intake,
    make_prompts,
    make_queues,
    make_runner,
    make_schedule_runner,
    make_schedules,
    make_visibility,
)
from gateway.core.events import AccessChanged, Stopping
from gateway.remembering.memories import Backends
from gateway.sessions.sandbox import Sandboxing
from gateway.sessions.sessions import AgentProgram
from gateway.turns.commands import CommandRunner, Commands, Handler
from gateway.turns.turn import TurnRunner
from gateway.web.signin.names import SHELL
from gateway.web.signin.own_token import PageSecrets

if TYPE_CHECKING:  # the page is loaded behind the bots, see `behind`
    from aiohttp import web

    from gateway.settings.config import Config
    from gateway.settings.editing.following import TableFollower, Tables
    from gateway.setup.connecting import Connecting
    from gateway.web.services import Services
    from gateway.web.settings.values import ChangeChecks
    from gateway.web.signin.rows import PageState

Confirms = Callable[[Claim], Awaitable[bool]]
"""Asks whoever sits at the terminal whether somebody is the owner."""

Started = Callable[[str, str], None]
"""Told the page's address when it is served, and a link that signs its owner in, once."""

BOTS_S = 5.0  # a platform that is away holds up nothing

log = structlog.stdlib.get_logger("moot.app")


class App:
    """Every part of one gateway, in the order in which they are made."""

    def __init__(
        self,
        context: Context,
        *,
        programs: Callable[[str], AgentProgram],
        backends: Backends = Backends(),  # noqa: B008  (it is frozen)
        page_secrets: PageSecrets = PageSecrets(),  # noqa: B008  (it is frozen)
        hooks: HookListener | None = None,
        environment: MutableMapping[str, str] | None = None,
        sandboxing: Sandboxing | None = None,
        checks: ChangeChecks | None = None,
    ) -> None:
        """checks: of what the page writes into moot.toml; None: it can't."""
        self.context = context
        self.personas, self.bots, self.bus = context.personas, context.bots, context.bus
        self.transcript, self.ledger = context.transcript, context.ledger
        self.access, self.audit, self.metrics = context.access, context.audit, context.metrics

        # Who may do what, and what is written down of it
        self.queues, self._progress = make_queues(context)
        self.admissions = make_admissions(context, self.queues.start)
        self.questions = make_questions(context)
        self.accounting = make_accounting(context)

        # What is remembered, and who answers
        self.memories = make_memories(context, backends, self.queues.behind)
        self._embedder = backends.embedder
        self.persona_service = make_persona_service(context)
        self.workers = workers = make_workers(context)
        if workers is not None:
            programs = workers.programs(programs)
        self.homes = kept = make_keeper(context, workers)
        memories = self.memories
        self.sessions = make_sessions(context, memories, programs, hooks, sandboxing, workers, kept)
        self._make_way(programs)
        # The page
        self.visitors = make_visitors(context, self.admissions, page_secrets)
        self.questions.name_of = self.visitors.people.name
        self._hooks, self._environment, self._checks = hooks, environment, checks
        self._tables = self._make_tables(environment)

    @cached_property
    def _connecting(self) -> Connecting | None:
        if self._hooks is None or self._environment is None:
            return None
        from gateway.setup.connecting import Connecting  # of the page, as `services` are

        config, learn = self.context.config, self.context.redactor.learn_one
        return Connecting(
            config, self._environment, self._hooks, self.persona_service, learn, self._tell_others
        )

    def _make_way(self, programs: Callable[[str], AgentProgram]) -> None:
        """The way of a message: from the intake through a queue to a session, and back."""
        context = self.context
        self.visibility = make_visibility(context, self.memories)
        self.prompts = make_prompts(context, self.memories)
        self.schedules = make_schedules(context)
        self.idle = make_idle(context, self.memories, self.queues.busy)
        commands = self._commands()
        self.intake = make_intake(
            context,
            self.queues,
            self.memories,
            self.sessions,
            commands=commands,
            admissions=self.admissions,
            questions=self.questions,
            accounting=self.accounting,
            programs=programs,
        )
        self.queues.serve(self._runner(commands), self.intake.look)
        self.supervisor = make_supervisor(context)
        self._backup = FailedBackup()
        self.alerts = make_alerts(
            context, self.supervisor, self.questions, self.queues.start, self._backup
        )

    def _stores_again(self) -> None:
        """The database was away, and is back."""
        self.queues.take_up()
        self.supervisor.read_again()
        if self._tables is not None:
            self.context.spawn(self._tables.catch_up(), "tables follow")

    @cached_property
    def services(self) -> Services:
        """The services behind the page, made when it opens."""
        from gateway.app import page  # with it comes the page: eighty modules

        admin = page.make_admin(
            self.context,
            sessions=self.sessions,
            questions=self.questions,
            supervisor=self.supervisor,
            queues=self.queues,
            idle=self.idle,
            embedder=self._embedder,
            alerts=self.alerts,
        )
        return page.make_services(
            self.context,
            intake=self.intake,
            queues=self.queues,
            sessions=self.sessions,
            questions=self.questions,
            memories=self.memories,
            schedules=self.schedules,
            accounting=self.accounting,
            admissions=self.admissions,
            admin=admin,
            monitor=page.make_monitor(
                self.context, self.sessions, self.queues, self.supervisor, self.workers
            ),
            personas=self.persona_service,
            dry_runs=page.make_rehearsal(
                self.context, self.visibility, self.prompts, self.sessions
            ),
            visitors=self.visitors,
            settings=page.make_settings(
                self.context, self._environment, self._checks, self.settings_changed
            ),
            connecting=self._connecting,
        )

    def _runner(self, commands: Commands) -> TurnRunner:
        context = self.context
        return make_runner(
            context,
            self.sessions,
            self.memories,
            commands=CommandRunner(
                commands,
                context.transcript,
                context.personas,
                context.accounts,
                self.queues,
            ),
            visibility=self.visibility,
            prompts=self.prompts,
            persona_service=self.persona_service,
            admissions=self.admissions,
            questions=self.questions,
            accounting=self.accounting,
            progress=self._progress,
            workers=self.workers,
        )

    def _commands(self) -> Commands:
        permits = Permits(self.context.access, self.context.audit)

        @cache
        def handlers() -> Mapping[str, Handler]:
            from gateway.app.handlers import make_handlers  # loaded behind, with forty modules

            return make_handlers(
                self.context,
                permits,
                memories=self.memories,
                sessions=self.sessions,
                personas=self.persona_service,
                schedules=self.schedules,
                questions=self.questions,
                admissions=self.admissions,
                usage=self.accounting.usage,
                queues=self.queues,
                ended=self.idle.end,
                accounting=self.accounting,
                start=self.queues.start,
            )

        return Commands(permits, handlers)

    async def serve(
        self,
        started: Started,
        ends: Ends,
        notify: Notify = nobody,
        confirms: Confirms | None = None,
    ) -> None:
        """Take up what an earlier process left, then serve until the end."""
        self.context.store.health.on_recovery = self._stores_again
        await self._take_up()
        self._reach_machines()
        begin_jobs(
            self.context,
            idle=self.idle,
            sessions=self.sessions,
            schedules=make_schedule_runner(self.context, self.schedules),
            memories=self.memories,
            supervisor=self.supervisor,
            intake=self.intake,
            alerts=self.alerts,
            backup=self._backup,
        )
        await self.persona_service.catch_up()
        self.context.spawn(self.persona_service.watch(), "personas follow")
        webhooks = await self._webhooks()
        from gateway.app.page import serve_page

        people = self.visitors.people
        async with serve_page(self.context, self.services, people, webhooks) as (url, link):
            started(url, link)
            self.context.group.create_task(keep_alive(notify), name="watchdog")
            notify(f"READY=1\nSTATUS=serving {url}")
            self.context.spawn(self._begin_memory(), "memory begins")
            self.context.spawn(self._go_on_behind(), "loading")
            if confirms is not None:
                self.context.spawn(self._confirm_owners(confirms), "owners")
            await ends.stop.wait()
            notify("STOPPING=1\nSTATUS=finishing what runs")
            await self._finish(ends)

    def _reach_machines(self) -> None:
        """Begin what goes on with workers, and with machines that may lead."""
        if self.workers is not None:
            self.context.spawn(run_workers(self.context, self.workers), "workers")
        if self.homes is not None:
            self.context.spawn(self.homes.run(), "records of sessions")

    async def _webhooks(self) -> list[web.RouteDef]:
        """Those of bots, which the page's listener serves; without any, bots come first."""
        found = [route for bot in self.bots.values() for route in bot.routes()]
        if len(self.bots) > 1 and not found:
            await load_behind(PAGE, HEAD_START_S)
        return found

    async def _finish(self, ends: Ends) -> None:
        """Let what runs come to its end, and what agents recorded of it to where it is kept."""
        self.context.bus.publish(Stopping())
        await finish(self.queues, self.context.config.gateway.shutdown_s, ends.at_once)
        if self.workers is not None:
            self.workers.fleet.leaves = True
        if self.homes is not None:
            await self.homes.settle()

    @asynccontextmanager
    async def serve_reads(self, leader: Callable[[], str]) -> AsyncIterator[str]:
        """Serve what can be read until the block ends, beside a gateway that leads; gives the
        page's address. leader: gives its name. Nothing is taken up, and no bot connects."""
        from gateway.app.page import serve_reads
        from gateway.web.front.standby import Standby

        self.context.spawn(self.persona_service.watch(), "personas follow")
        if self._tables is not None:
            self.context.spawn(self._tables.watch(self._go_by), "tables follow")
        standby = Standby(leader, self._load_beside)
        async with serve_reads(self.context, self.services, standby) as url:
            yield url

    async def _go_on_behind(self) -> None:
        """Load modules and check the audit log, which may be long: no first reply needs it."""
        agents = {persona.front.agent for persona in self.personas.good.values()}
        runs = any(self.sessions.opener.programs(agent).runs for agent in agents)
        await load_behind((*AFTERWARDS, *(PROGRAMS if runs else ())))
        await self.audit.report()

    async def _confirm_owners(self, confirms: Confirms) -> None:
        claims = self.admissions.claims
        while True:
            claim = await claims.next()
            asking = asyncio.ensure_future(confirms(claim))
            gone = asyncio.ensure_future(claims.gone())  # decided on the page
            try:
                await asyncio.wait({asking, gone}, return_when=asyncio.FIRST_COMPLETED)
                if asking.done():
                    await claims.decide(claim.person.id, SHELL, accepts=asking.result())
            finally:
                gone.cancel()
                asking.cancel()

    async def _begin_memory(self) -> None:
        """Open the index and other Mem0s: its import takes a second, which the bots have first."""
        await self.supervisor.connected(BOTS_S)
        self.memories.hearing.begin()
        if self.memories.sources is not None:
            self.context.spawn(self.memories.sources.begin(), "memory sources")

    def _make_tables(self, environment: MutableMapping[str, str] | None) -> TableFollower | None:
        of = self.context
        known = of.personas if of.store.read_only else None
        return make_table_follower(of.config, of.store, environment, of.redactor, known)

    async def settings_changed(self, config: Config) -> None:
        """The page wrote moot.toml, which says this now."""
        self.accounting.limits.change(config.limits)
        self.bus.publish(AccessChanged())
        await self._tell_others()

    async def _tell_others(self) -> None:
        """Give other machines what the page wrote into moot.toml and moot.env."""
        if self._tables is not None:
            await self._tables.follow()

    def _go_by(self, tables: Tables) -> None:
        """Go by the tables that hold where another gateway leads."""
        if (table := tables.get("access", self.access.table)) != self.access.table:
            self.access.take(table)

    async def _load(self) -> PageState:
        """Read what is kept in memory of who may do what, and of what was chosen."""
        await self.admissions.load()
        await self.context.settings.load()
        await self.context.tombstones.load()
        return await self.visitors.load()

    async def _load_beside(self) -> None:
        """The same beside the gateway that leads."""
        if self._tables is not None:
            self._go_by(await self._tables.follow())
        await self._load()

    async def _take_up(self) -> None:
        """Take up what an earlier process left, and what the configuration says now."""
        config = self.context.config
        await self.visitors.people.tidy(await self._load())
        await self.audit.started(config.file)
        recovered = await self.queues.recover()
        if recovered:
            log.info("turns.recovered", count=recovered)
        await self.schedules.take_configured(config.schedules, self.bots)
