"""The handlers of commands, by the names that the table of commands gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.access.admissions import Admissions
from gateway.access.people import People
from gateway.access.permits import Permits
from gateway.app.context import Context
from gateway.commands.agents import AgentCommands
from gateway.commands.choices import ChoiceCommands
from gateway.commands.help import HelpCommand
from gateway.commands.memory import RememberCommands
from gateway.commands.model import ModelCommands
from gateway.commands.personas import PersonaCommands
from gateway.commands.pins import PinCommands
from gateway.commands.questions import QuestionCommands
from gateway.commands.recall import RecallCommands
from gateway.commands.retry import RetryCommand, StartTurn
from gateway.commands.roles import RoleCommands
from gateway.commands.rooms import RoomCommands
from gateway.commands.schedules import ScheduleCommands
from gateway.commands.sessions import SessionCommands
from gateway.commands.status import StatusCommands
from gateway.commands.undo import UndoCommand
from gateway.commands.usage import UsageCommands
from gateway.commands.why import WhyCommand
from gateway.core.clock import clock
from gateway.core.ledger import UnusedSession
from gateway.limits.accounting import Accounting
from gateway.limits.usage import UsageBook
from gateway.personas.service import PersonaService
from gateway.questions.questions import Questions
from gateway.remembering.memories import Memories
from gateway.schedules.schedules import Schedules
from gateway.sessions.pool import SessionPool
from gateway.turns.commands import Handler
from gateway.turns.queue import TurnQueues


def make_handlers(
    context: Context,
    permits: Permits,
    *,
    memories: Memories,
    sessions: SessionPool,
    personas: PersonaService,
    schedules: Schedules,
    questions: Questions,
    admissions: Admissions,
    usage: UsageBook,
    queues: TurnQueues,
    ended: Callable[[UnusedSession], object],
    accounting: Accounting,
    start: StartTurn,
) -> Mapping[str, Handler]:
    """The handlers of commands. ended: see AgentCommands. start: see RetryCommand."""
    access, zone, transcript = context.access, context.zone, context.transcript
    config = context.config.gateway
    public_url = config.public_url or ""
    people = People(transcript, context.rosters, context.bots)
    return {
        **_of_memory(context, memories, sessions),
        "agents": AgentCommands(context.ledger, sessions, ended, queues).run,
        "choices": _choices(context, sessions, ended).run,
        "help": HelpCommand(permits).run,
        "model": ModelCommands(context.settings, sessions.program).run,
        "personas": PersonaCommands(personas, access, zone, public_url).run,
        "questions": QuestionCommands(questions).run,
        "retry": RetryCommand(context.ledger, transcript, access, accounting, start, clock).run,
        "roles": RoleCommands(access, admissions.grants, admissions.pairings, people, permits).run,
        "rooms": RoomCommands(context.settings, access, context.audit, config.language).run,
        "schedules": ScheduleCommands(schedules, access, clock).run,
        "sessions": _sessions(context, sessions, ended).run,
        "status": _status(context, sessions, queues).run,
        "undo": _undo(context, sessions, memories).run,
        "usage": UsageCommands(usage, access, clock, zone).run,
        "why": WhyCommand(context.ledger, public_url).run,
    }


def _of_memory(
    context: Context, memories: Memories, sessions: SessionPool
) -> Mapping[str, Handler]:
    transcript = context.transcript
    remembering = RememberCommands(
        memories.keeper,
        transcript=transcript,
        sessions=sessions,
        access=context.access,
        has_model=memories.calls is not None,
        zone=context.zone,
    )
    return {
        "memory": remembering.run,
        "pins": PinCommands(memories.landmarks, memories.slices, transcript).run,
        "recall": RecallCommands(context.store, memories.tools).run,
    }


def _choices(
    context: Context, sessions: SessionPool, ended: Callable[[UnusedSession], object]
) -> ChoiceCommands:
    return ChoiceCommands(
        settings=context.settings,
        sessions=sessions,
        ledger=context.ledger,
        access=context.access,
        audit=context.audit,
        ended=ended,
    )


def _undo(context: Context, sessions: SessionPool, memories: Memories) -> UndoCommand:
    return UndoCommand(
        store=context.store,
        ledger=context.ledger,
        transcript=context.transcript,
        sessions=sessions,
        access=context.access,
        audit=context.audit,
        changed=memories.hearing.changed,
        clock=clock,
    )


def _sessions(
    context: Context, sessions: SessionPool, ended: Callable[[UnusedSession], object]
) -> SessionCommands:
    return SessionCommands(
        ledger=context.ledger,
        transcript=context.transcript,
        sessions=sessions,
        settings=context.settings,
        audit=context.audit,
        zone=context.zone,
        ended=ended,
    )


def _status(context: Context, sessions: SessionPool, queues: TurnQueues) -> StatusCommands:
    return StatusCommands(
        sessions=sessions,
        settings=context.settings,
        ledger=context.ledger,
        transcript=context.transcript,
        access=context.access,
        bots=context.bots,
        queues=queues,
        clock=clock,
    )
