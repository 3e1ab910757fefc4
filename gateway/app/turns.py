"""The way of a message: through the intake into a session's queue, to a session and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from contract.chat import Chosen, HomeOpened, Inbound, Pinned
from gateway.access.admissions import Admissions
from gateway.access.visibility import Visibility
from gateway.app.context import Context
from gateway.app.memory import make_pins, make_suggestions
from gateway.commands.home import HomeTab
from gateway.core.clock import clock
from gateway.limits.accounting import Accounting
from gateway.personas.service import PersonaService
from gateway.questions.questions import Questions
from gateway.remembering.memories import Memories
from gateway.schedules.rows import ScheduleRows
from gateway.schedules.runner import ScheduleRunner
from gateway.schedules.schedules import Schedules
from gateway.sessions.pool import SessionPool
from gateway.sessions.sessions import AgentProgram
from gateway.turns.admission import Admission, HandOver, LongMessages
from gateway.turns.commands import CommandRunner, Commands
from gateway.turns.delivery import Delivery
from gateway.turns.following import FollowUps
from gateway.turns.intake import Changes, Handlers, Intake, MessageListeners
from gateway.turns.progress import TurnProgress, TurnReactions
from gateway.turns.prompt import Prompts, PromptSettings
from gateway.turns.queue import TurnQueues
from gateway.turns.routing import MessageRouter, Route
from gateway.turns.threads import Threads
from gateway.turns.turn import AgentCaller, TurnRunner
from gateway.turns.voice import VoiceMessages
from gateway.turns.windows import Windows
from store.rows import StoredMessage

if TYPE_CHECKING:  # it brings the client of NATS, which only who has workers needs
    from gateway.workers.opener import Workers


def make_queues(context: Context) -> tuple[TurnQueues, TurnProgress]:
    """The queues, one a session, and who tells of the turns in them."""
    progress = TurnProgress(
        context.bots,
        context.personas,
        TurnReactions(context.group, context.bots, context.config.turns.marks),
        context.bus,
        context.telemetry.turn if context.telemetry else None,
        waited=context.metrics.waited,
        measure=context.metrics.ended,
        show=context.config.turns.show,
    )
    queues = TurnQueues(
        context.group, context.store, context.ledger, context.transcript, progress, context.bots
    )
    return queues, progress


def make_router(context: Context) -> MessageRouter:
    """The decision of whom a message is for."""
    return MessageRouter(
        context.ledger,
        context.transcript,
        context.accounts,
        context.personas,
        context.settings,
        FollowUps(Threads(context.store), context.transcript, context.access, context.settings),
        max_hops=context.config.turns.max_hops,
    )


def make_intake(
    context: Context,
    queues: TurnQueues,
    memories: Memories,
    sessions: SessionPool,
    *,
    admissions: Admissions,
    commands: Commands,
    questions: Questions,
    accounting: Accounting,
    programs: Callable[[str], AgentProgram],
) -> Intake:
    """The intake of every event of every platform."""

    def opens_files(name: str) -> bool:
        persona = context.personas.good.get(name)
        if persona is None:
            return False
        return context.config.memory.mcp or programs(persona.front.agent).runs

    return Intake(
        accounts=context.accounts,
        router=make_router(context),
        admission=Admission(
            context.access,
            admissions,
            accounting,
            LongMessages(context.config.budget.budget().message, opens_files),
            refused=_refused(context, questions),
        ),
        ledger=context.ledger,
        queues=queues,
        voice=_make_voice(context),
        changes=_make_changes(context, queues, memories, sessions),
        handlers=_handlers(context, memories, questions, commands),
    )


def _refused(context: Context, questions: Questions) -> Callable[[Route], None]:
    def refused(route: Route) -> None:
        context.metrics.refused(route.inbound.meta.source)
        command = route.reading.command
        if command is not None and command.name.isdecimal():
            questions.turned_away(route.inbound, int(command.name) - 1)

    return refused


def _handlers(
    context: Context, memories: Memories, questions: Questions, commands: Commands
) -> Handlers:
    return {
        Pinned: make_pins(context, memories).take,
        Chosen: questions.pressed,
        HomeOpened: HomeTab(commands, context.personas, clock).take,
    }


def _make_changes(
    context: Context, queues: TurnQueues, memories: Memories, sessions: SessionPool
) -> Changes:
    hearing = memories.hearing

    def edited(message: StoredMessage) -> None:
        hearing.changed(message)
        sessions.edited(message)

    listeners = MessageListeners(context.bus, context.metrics.stored, hearing.heard, edited)
    transcript, tombstones = context.transcript, context.tombstones
    changed, files = hearing.changed, context.files
    return Changes(transcript, listeners, queues, changed, clock, tombstones, files)


def _make_voice(context: Context) -> VoiceMessages:
    def takes_part(inbound: Inbound) -> bool:
        return context.access.takes_part(inbound.room, inbound.meta.sender_id)

    return VoiceMessages(context.transcriber, takes_part)


def make_schedules(context: Context) -> Schedules:
    """The schedules of all rooms."""
    return Schedules(
        ScheduleRows(context.store),
        context.transcript,
        context.audit,
        table=context.config.scheduling,
        zone=context.zone,
        clock=clock,
    )


def make_schedule_runner(context: Context, schedules: Schedules) -> ScheduleRunner:
    """Runs schedules that are due."""
    return ScheduleRunner(
        schedules,
        ledger=context.ledger,
        transcript=context.transcript,
        access=context.access,
        personas=context.personas,
        bots=context.bots,
        count=context.metrics.scheduled,
    )


def make_runner(
    context: Context,
    sessions: SessionPool,
    memories: Memories,
    *,
    commands: CommandRunner,
    visibility: Visibility,
    prompts: Prompts,
    persona_service: PersonaService,
    admissions: Admissions,
    questions: Questions,
    accounting: Accounting,
    progress: TurnProgress,
    workers: Workers | None,
) -> TurnRunner:
    """The runner of turns."""
    delivery = _delivery(context, memories, admissions, questions, accounting, progress)
    caller = AgentCaller(
        visibility=visibility,
        prompts=prompts,
        ledger=context.ledger,
        accounting=accounting,
        delivery=delivery,
        progress=progress,
        timeout_s=context.config.turns.timeout_s,
        waits=workers.waits if workers is not None else lambda turn: False,
    )
    return TurnRunner(
        personas=context.personas,
        version=persona_service.number,
        sessions=sessions,
        caller=caller,
        commands=commands,
        delivery=delivery,
        progress=progress,
        remember=memories.layers.remember,
    )


def _delivery(
    context: Context,
    memories: Memories,
    admissions: Admissions,
    questions: Questions,
    accounting: Accounting,
    progress: TurnProgress,
) -> Delivery:
    return Delivery(
        ledger=context.ledger,
        questions=questions,
        hand_over=HandOver(
            context.accounts,
            context.rosters,
            context.config.turns.max_hops,
            context.access,
            admissions.unknown_users,
            context.ledger,
            accounting,
            make_suggestions(context, memories),
        ),
        presence=context.presence,
        progress=progress,
        stored=context.metrics.stored,
        redactor=context.redactor,
        clock=clock,
    )


def make_visibility(context: Context, memories: Memories) -> Visibility:
    """The decision of what a prompt may be made from."""
    return Visibility(memories.members, context.rosters, context.bots)


def make_prompts(context: Context, memories: Memories) -> Prompts:
    """The maker of all that an agent is given with a message."""
    config = context.config
    budget = config.budget.budget()
    return Prompts(
        transcript=context.transcript,
        windows=Windows(
            context.transcript, memories.episodes.covered, budget, config.turns.full_window
        ),
        layers=memories.layers,
        bots=context.bots,
        accounts=context.accounts,
        personas=context.personas,
        redactor=context.redactor,
        settings=PromptSettings(
            config.gateway.timezone,
            budget,
            config.turns.max_hops,
            context.settings.session_thread,
            context.files.placed,
        ),
    )
