"""The page: what it asks of the house, and how it is served."""

from __future__ import annotations

from gateway.access.admissions import Admissions
from gateway.access.service import AccessDesk
from gateway.app.context import Ground
from gateway.app.supervisor import Supervisor
from gateway.core.clock import clock
from gateway.limits.accounting import Books
from gateway.questions.questions import Questions
from gateway.remembering.idle import Idle
from gateway.remembering.memories import Memories
from gateway.schedules.schedules import Schedules
from gateway.schedules.service import ScheduleDesk
from gateway.sessions.pool import LocalSessions
from gateway.sessions.sandbox import any_wanted
from gateway.turns.intake import Door
from gateway.turns.queue import Rooms
from gateway.web.admin.service import Overseer
from gateway.web.auth import Access as PageAccess
from gateway.web.memory.room_memory import RoomMemories
from gateway.web.page import PageSettings
from gateway.web.service import Desk


def make_desk(
    ground: Ground,
    *,
    door: Door,
    rooms: Rooms,
    sessions: LocalSessions,
    questions: Questions,
    memories: Memories,
    schedules: Schedules,
    books: Books,
    admissions: Admissions,
    admin: Overseer,
) -> Desk:
    """The house, as the page sees it."""
    return Desk(
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
        memory=RoomMemories(ground.store, ground.transcript, memories.recall),
        schedules=ScheduleDesk(schedules, ground.transcript, ground.personas, ground.bots, clock),
        audit=ground.audit,
        usage=books.usage,
        roles=AccessDesk(ground.access, admissions, ground.transcript),
        admin=admin,
        clock=clock,
    )


def make_overseer(
    ground: Ground,
    *,
    sessions: LocalSessions,
    questions: Questions,
    supervisor: Supervisor,
    rooms: Rooms,
    idle: Idle,
) -> Overseer:
    """The administrator's side of it."""
    config = ground.config
    return Overseer(
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


def make_page_settings(ground: Ground, token: str | None) -> PageSettings:
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
