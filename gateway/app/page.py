"""The page: the services behind it, and how it is served."""

from __future__ import annotations

from gateway.access.admissions import Admissions
from gateway.access.service import AccessService
from gateway.app.context import Context
from gateway.app.supervisor import Supervisor
from gateway.core.clock import clock
from gateway.limits.accounting import Accounting
from gateway.questions.questions import Questions
from gateway.remembering.idle import IdleSessions
from gateway.remembering.memories import Memories
from gateway.schedules.schedules import Schedules
from gateway.schedules.service import ScheduleService
from gateway.sessions.pool import SessionPool
from gateway.sessions.sandbox import any_wanted
from gateway.turns.intake import Intake
from gateway.turns.queue import TurnQueues
from gateway.web.admin.service import AdminService
from gateway.web.auth import PageAuth as PageAccess
from gateway.web.memory.room_memory import RoomMemoryService
from gateway.web.page import PageSettings
from gateway.web.service import WebService


def make_desk(
    ground: Context,
    *,
    door: Intake,
    rooms: TurnQueues,
    sessions: SessionPool,
    questions: Questions,
    memories: Memories,
    schedules: Schedules,
    books: Accounting,
    admissions: Admissions,
    admin: AdminService,
) -> WebService:
    """The house, as the page sees it."""
    return WebService(
        door=door,
        rooms=rooms,
        transcript=ground.transcript,
        ledger=ground.ledger,
        sessions=sessions,
        personas=ground.personas,
        questions=questions,
        bus=ground.bus,
        bots=ground.bots,
        metrics=ground.metrics,
        memory=RoomMemoryService(ground.store, ground.transcript, memories.recall),
        schedules=ScheduleService(
            schedules, ground.transcript, ground.personas, ground.bots, clock
        ),
        audit=ground.audit,
        usage=books.usage,
        roles=AccessService(ground.access, admissions, ground.transcript),
        admin=admin,
        clock=clock,
    )


def make_overseer(
    ground: Context,
    *,
    sessions: SessionPool,
    questions: Questions,
    supervisor: Supervisor,
    rooms: TurnQueues,
    idle: IdleSessions,
) -> AdminService:
    """The administrator's side of it."""
    config = ground.config
    return AdminService(
        store=ground.store,
        transcript=ground.transcript,
        sessions_here=sessions,
        personas=ground.personas,
        questions=questions,
        health=supervisor.health,
        data_dir=config.gateway.data_dir,
        database=config.database_file,
        zone=ground.zone,
        waiting=rooms.waiting,
        ended=idle.end,
        audit=ground.audit,
        clock=clock,
    )


def make_page_settings(ground: Context, token: str | None) -> PageSettings:
    """token: None when nobody but this machine may look."""
    config = ground.config
    return PageSettings(
        files=config.gateway.data_dir / "files",
        host=config.gateway.host,
        port=config.gateway.port,
        access=PageAccess(token=token),
        redactor=ground.redactor,
        metrics=config.telemetry.metrics,
        encloses=lambda: any_wanted(config, ground.personas),
    )
