"""The page: the services behind it, and how it is served."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from aiohttp.web import RouteDef

from gateway.access.admissions import Admissions
from gateway.access.service import AccessService
from gateway.access.visibility import Visibility
from gateway.alerts.alerts import Alerts
from gateway.app.context import Context
from gateway.app.supervisor import Supervisor
from gateway.core.clock import clock
from gateway.core.lock import reached, tell_address, telling_address
from gateway.core.private_folders import FILES
from gateway.files.attached import AttachedFiles
from gateway.limits.accounting import Accounting
from gateway.personas.choices import AgentChoices
from gateway.personas.dry_run import DryRuns
from gateway.personas.service import PersonaService
from gateway.questions.questions import Questions
from gateway.remembering.embedder import InstalledModel
from gateway.remembering.idle import IdleSessions
from gateway.remembering.memories import Memories
from gateway.schedules.schedules import Schedules
from gateway.schedules.service import ScheduleService
from gateway.sessions.pool import SessionPool
from gateway.sessions.sandbox import unconfined
from gateway.settings.config import Config
from gateway.setup.connecting import Connecting
from gateway.turns.intake import Intake
from gateway.turns.prompt import Prompts
from gateway.turns.queue import TurnQueues
from gateway.web.admin.embedder import EmbedderAdmin
from gateway.web.admin.service import Activity, AdminOverview, AdminServices, DataDisk, SessionAdmin
from gateway.web.chat import AgentService, ChatService
from gateway.web.front.standby import Standby
from gateway.web.inbox import InboxService
from gateway.web.listening.configured import connection_limits, page_auth
from gateway.web.memory.room_memory import RoomMemoryService
from gateway.web.messages.api import TalkServices
from gateway.web.messages.own import OwnMessages
from gateway.web.messages.reads import ReadMarks
from gateway.web.messages.search import MessageSearch
from gateway.web.monitor import Monitor
from gateway.web.page import PageSettings, open_page
from gateway.web.services import Services
from gateway.web.settings.service import Installed, SettingsService
from gateway.web.settings.values import ChangeChecks
from gateway.web.signin.owner_api import link_address
from gateway.web.signin.people import PagePeople
from gateway.web.signin.visitors import Visitors

if TYPE_CHECKING:  # it brings the client of NATS, which only who has workers needs
    from gateway.workers.opener import Workers

READS_S = 0.2  # requests that only read may take so long when this one leads: nobody else does


def make_services(
    context: Context,
    *,
    intake: Intake,
    queues: TurnQueues,
    sessions: SessionPool,
    questions: Questions,
    memories: Memories,
    schedules: Schedules,
    accounting: Accounting,
    admissions: Admissions,
    admin: AdminServices,
    monitor: Monitor,
    personas: PersonaService,
    dry_runs: DryRuns,
    visitors: Visitors,
    settings: SettingsService | None = None,
    connecting: Connecting | None = None,
) -> Services:
    """The services that the page's routes ask."""
    transcript, bots = context.transcript, context.bots
    agents = AgentService(sessions, context.personas, bots)
    chat = _make_chat(context, queues, questions, agents)
    talk = TalkServices(
        OwnMessages(transcript, intake.receive, bots["web"], clock),
        MessageSearch(context.store),
        ReadMarks(context.store, context.bus, clock),
        chat.rooms,
    )
    return Services(
        inbox=_make_inbox(context, intake, questions),
        chat=chat,
        talk=talk,
        agents=agents,
        monitor=monitor,
        events=context.bus,
        memory=RoomMemoryService(context.store, transcript, memories.recall),
        audit=context.audit,
        usage=accounting.usage,
        access=AccessService(context.access, admissions, transcript),
        admin=admin,
        schedules=ScheduleService(schedules, transcript, context.personas, bots, clock),
        personas=personas,
        dry_runs=dry_runs,
        choices=AgentChoices(
            context.config.agents, sessions.opener.programs, context.personas.good
        ),
        visitors=visitors,
        settings=settings,
        connecting=connecting,
    )


def make_settings(
    context: Context,
    environment: Mapping[str, str] | None,
    checks: ChangeChecks | None,
    told: Callable[[Config], Awaitable[None]],
) -> SettingsService | None:
    """The editor of moot.toml, where there is one to edit. environment: with the secrets of
    moot.env. told: see SettingsService."""
    if environment is None or checks is None:
        return None
    running = checks.config.model_copy(update={"bots": context.config.bots})
    return SettingsService(
        Installed(environment, checks, running, context.redactor.learn),
        context.access,
        context.personas,
        context.transcript,
        context.audit,
        told,
    )


def make_monitor(
    context: Context,
    sessions: SessionPool,
    queues: TurnQueues,
    supervisor: Supervisor,
    workers: Workers | None,
) -> Monitor:
    store = context.store.health
    bots, told = supervisor.health, workers.fleet.state if workers is not None else None
    return Monitor(sessions, queues, context.metrics, context.personas, store, bots, told)


def _make_inbox(context: Context, intake: Intake, questions: Questions) -> InboxService:
    return InboxService(
        intake=intake,
        transcript=context.transcript,
        ledger=context.ledger,
        personas=context.personas,
        questions=questions,
        bus=context.bus,
        bots=context.bots,
        clock=clock,
    )


def _make_chat(
    context: Context, queues: TurnQueues, questions: Questions, agents: AgentService
) -> ChatService:
    return ChatService(
        transcript=context.transcript,
        ledger=context.ledger,
        queues=queues,
        questions=questions,
        agents=agents,
        attached=AttachedFiles(context.store),
        bus=context.bus,
        clock=clock,
    )


def make_admin(
    context: Context,
    *,
    sessions: SessionPool,
    questions: Questions,
    supervisor: Supervisor,
    queues: TurnQueues,
    idle: IdleSessions,
    alerts: Alerts,
    embedder: InstalledModel | None = None,
) -> AdminServices:
    """The administrator's side of the page."""
    config = context.config
    store, settings, waiting = context.store, context.settings, queues.waiting
    activity = Activity(store, context.transcript, settings, context.zone, clock, waiting)
    disk = DataDisk(
        config.gateway.data_dir, None if config.store.url else config.gateway.database_file
    )
    return AdminServices(
        AdminOverview(
            activity,
            sessions,
            context.personas,
            questions,
            supervisor.health,
            disk,
            lambda: {
                one.persona: str(one) for one in unconfined(config, context.personas.good.values())
            },
            alerts,
        ),
        activity,
        SessionAdmin(sessions, context.store, context.audit, idle),
        None if embedder is None else EmbedderAdmin(embedder, context.spawn),
    )


@asynccontextmanager
async def serve_page(
    context: Context, services: Services, people: PagePeople, webhooks: Sequence[RouteDef]
) -> AsyncIterator[tuple[str, str]]:
    """Serve the page until the block ends. Gives its address, and a link that signs its owner in,
    once."""
    await services.chat.open_lobby()
    settings = _page_settings(context)
    async with open_page(services, settings, webhooks) as url:
        tell_address(context.config.gateway.data_dir, url)
        link = await people.owner_link()
        yield url, link_address(settings.access.public_url or reached(url), link.code)


@asynccontextmanager
async def serve_reads(context: Context, services: Services, standby: Standby) -> AsyncIterator[str]:
    """Serve what can be read of the page, until the block ends; gives its address."""
    settings = replace(_page_settings(context), webhooks=None, shutdown_s=READS_S)
    async with open_page(services, settings, standby=standby) as url:
        with telling_address(context.config.gateway.data_dir, url):
            yield url


def _page_settings(context: Context) -> PageSettings:
    """How the page is served."""
    config = context.config
    return PageSettings(
        files=config.gateway.data_dir / FILES,
        fetch=context.files.fetch_folder,
        host=config.gateway.host,
        port=config.gateway.port,
        access=page_auth(config),
        redactor=context.redactor,
        metrics=config.telemetry.metrics,
        webhooks=config.gateway.webhooks_address,
        connections=connection_limits(config),
    )


def make_rehearsal(
    context: Context, visibility: Visibility, prompts: Prompts, sessions: SessionPool
) -> DryRuns:
    """The dry run, which tries a persona before it is kept."""
    return DryRuns(
        visibility=visibility,
        prompts=prompts,
        transcript=context.transcript,
        bots=context.bots,
        opener=sessions.opener,
        data_dir=context.config.gateway.data_dir,
        clock=clock,
    )
