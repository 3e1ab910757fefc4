"""The way of a message: through the door into a room's queue, to a session and back."""

from __future__ import annotations

from contract.chat import Chosen, Pinned
from gateway.access.admissions import Admissions
from gateway.access.visibility import Visibility
from gateway.app.context import Context
from gateway.app.memory import make_pins, make_suggestions
from gateway.core.clock import clock
from gateway.limits.accounting import Accounting
from gateway.personas.dry_run import DryRuns
from gateway.personas.service import PersonaService
from gateway.questions.questions import Questions
from gateway.remembering.memories import Memories
from gateway.schedules.rows import ScheduleRows
from gateway.schedules.runner import ScheduleRunner
from gateway.schedules.schedules import Schedules
from gateway.sessions.pool import SessionPool
from gateway.turns.admission import Admission
from gateway.turns.changes import Changes, MessageListeners
from gateway.turns.commands import CommandRunner
from gateway.turns.delivery import Delivery
from gateway.turns.handover import HandOver
from gateway.turns.intake import Intake
from gateway.turns.progress import TurnProgress
from gateway.turns.prompt import Prompts, PromptSettings, Windows
from gateway.turns.queue import TurnQueues
from gateway.turns.reactions import TurnReactions
from gateway.turns.routing import MessageRouter
from gateway.turns.turn import AgentCaller, TurnRunner


def make_queues(ground: Context) -> tuple[TurnQueues, TurnProgress]:
    """The queues, one a session, and who tells of the turns in them."""
    progress = TurnProgress(
        ground.bots,
        ground.personas,
        TurnReactions(ground.group, ground.bots, ground.config.turns.marks),
        ground.publish,
        ground.trails,
        waited=ground.metrics.waited,
        measure=ground.metrics.ended,
    )
    queues = TurnQueues(ground.group, ground.ledger, ground.transcript, progress, ground.bots)
    return queues, progress


def make_intake(
    ground: Context,
    queues: TurnQueues,
    memories: Memories,
    *,
    admissions: Admissions,
    questions: Questions,
    books: Accounting,
) -> Intake:
    """Where every event of every platform comes in."""
    config = ground.config
    listeners = MessageListeners(ground.publish, memories.hearing.heard, memories.hearing.changed)
    return Intake(
        accounts=ground.accounts,
        router=MessageRouter(
            ground.ledger,
            ground.transcript,
            ground.accounts,
            ground.personas,
            mention_free=frozenset(
                bot.name or bot.platform for bot in config.bots if not bot.require_mention
            ),
            max_hops=config.turns.max_hops,
        ),
        admission=Admission(
            ground.access, admissions.strangers, books, refused=ground.metrics.refused
        ),
        ledger=ground.ledger,
        queues=queues,
        listeners=listeners,
        changes=Changes(ground.transcript, listeners, queues, memories.hearing.changed, clock),
        handlers={Pinned: make_pins(ground, memories).take, Chosen: questions.pressed},
    )


def make_schedules(ground: Context) -> Schedules:
    """The schedules of all rooms."""
    return Schedules(
        ScheduleRows(ground.store),
        ground.transcript,
        ground.audit,
        table=ground.config.scheduling,
        zone=ground.zone,
        clock=clock,
    )


def make_schedule_runner(ground: Context, schedules: Schedules) -> ScheduleRunner:
    """What runs them."""
    return ScheduleRunner(
        schedules,
        ledger=ground.ledger,
        transcript=ground.transcript,
        access=ground.access,
        personas=ground.personas,
        bots=ground.bots,
        count=ground.metrics.scheduled,
    )


def make_runner(
    ground: Context,
    sessions: SessionPool,
    memories: Memories,
    *,
    commands: CommandRunner,
    visibility: Visibility,
    prompts: Prompts,
    persona_desk: PersonaService,
    admissions: Admissions,
    questions: Questions,
    books: Accounting,
    progress: TurnProgress,
) -> TurnRunner:
    """Who takes turns."""
    delivery = _delivery(ground, memories, admissions, questions, books, progress)
    caller = AgentCaller(
        visibility=visibility,
        prompts=prompts,
        ledger=ground.ledger,
        accounting=books,
        delivery=delivery,
        progress=progress,
        clock=clock,
        timeout_s=ground.config.turns.timeout_s,
    )
    return TurnRunner(
        personas=ground.personas,
        version=persona_desk.number,
        sessions=sessions,
        caller=caller,
        commands=commands,
        delivery=delivery,
        progress=progress,
        remember=memories.layers.remember,
    )


def _delivery(
    ground: Context,
    memories: Memories,
    admissions: Admissions,
    questions: Questions,
    books: Accounting,
    progress: TurnProgress,
) -> Delivery:
    return Delivery(
        ledger=ground.ledger,
        questions=questions,
        hand_over=HandOver(
            ground.accounts,
            ground.rosters,
            ground.config.turns.max_hops,
            ground.access,
            admissions.strangers,
            ground.ledger,
            books,
            make_suggestions(ground, memories).after,
        ),
        presence=ground.presence,
        progress=progress,
        publish=ground.publish,
        redactor=ground.redactor,
        clock=clock,
    )


def make_visibility(ground: Context, memories: Memories) -> Visibility:
    """Who decides what a prompt may be made from."""
    return Visibility(ground.transcript, memories.members, ground.rosters, ground.bots)


def make_prompts(ground: Context, memories: Memories) -> Prompts:
    """Who makes what an agent is given with a message."""
    config = ground.config
    budget = config.budget.budget()
    return Prompts(
        transcript=ground.transcript,
        windows=Windows(
            ground.transcript, memories.episodes.covered, budget, config.turns.full_window
        ),
        layers=memories.layers,
        bots=ground.bots,
        accounts=ground.accounts,
        personas=ground.personas,
        redactor=ground.redactor,
        settings=PromptSettings(config.gateway.timezone, budget, config.turns.max_hops),
    )


def make_rehearsal(
    ground: Context, visibility: Visibility, prompts: Prompts, sessions: SessionPool
) -> DryRuns:
    """Where a persona is tried before it is kept."""
    return DryRuns(
        visibility=visibility,
        prompts=prompts,
        transcript=ground.transcript,
        bots=ground.bots,
        opener=sessions.opener,
        data_dir=ground.config.gateway.data_dir,
        clock=clock,
    )
