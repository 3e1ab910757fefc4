"""Who carries out which commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.access.admissions import Admissions
from gateway.access.people import People
from gateway.app.context import Context
from gateway.commands.memory import RememberCommands
from gateway.commands.model import ModelCommands
from gateway.commands.personas import PersonaCommands
from gateway.commands.pins import PinCommands
from gateway.commands.roles import RoleCommands
from gateway.commands.schedules import ScheduleCommands
from gateway.commands.status import Queued, StatusCommands
from gateway.commands.usage import UsageCommands
from gateway.core.clock import clock
from gateway.limits.usage import UsageBook
from gateway.personas.service import PersonaService
from gateway.remembering.memories import Memories
from gateway.schedules.schedules import Schedules
from gateway.sessions.pool import SessionPool
from gateway.sessions.room_settings import RoomSettings
from gateway.turns.commands import Hand


def make_handlers(
    ground: Context,
    *,
    memories: Memories,
    sessions: SessionPool,
    settings: RoomSettings,
    persona_desk: PersonaService,
    schedules: Schedules,
    admissions: Admissions,
    usage: UsageBook,
    queue: Queued,
    page_url: Callable[[], str],
) -> Mapping[str, Hand]:
    """By what the table of commands calls `by`. queue: see StatusCommands."""
    transcript, access, zone = ground.transcript, ground.access, ground.zone
    remembering = RememberCommands(
        memories.keeper,
        transcript=transcript,
        sessions=sessions,
        access=access,
        has_model=memories.calls is not None,
        zone=zone,
    )
    status = StatusCommands(
        sessions=sessions,
        settings=settings,
        ledger=ground.ledger,
        transcript=transcript,
        access=access,
        bots=ground.bots,
        queue=queue,
        clock=clock,
    )
    people = People(transcript, ground.rosters, ground.bots)
    return {
        "pins": PinCommands(memories.landmarks, memories.slices, transcript).run,
        "memory": remembering.run,
        "recall": memories.recalling.run,
        "usage": UsageCommands(usage, access, clock, zone).run,
        "model": ModelCommands(settings, sessions.program).run,
        "status": status.run,
        "schedules": ScheduleCommands(schedules, access, clock).run,
        "personas": PersonaCommands(persona_desk, access, zone, page_url=page_url).run,
        "roles": RoleCommands(access, admissions.grants, admissions.pairings, people).run,
    }
