"""The way of a message: through the door into a room's queue, to a session and back."""

from __future__ import annotations

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
from gateway.turns.commands import Commands
from gateway.turns.handover import HandOver
from gateway.turns.intake import Intake
from gateway.turns.prompt import Prompts, PromptSettings
from gateway.turns.queue import TurnQueues
from gateway.turns.reactions import TurnReactions
from gateway.turns.turn import TurnRunner
from gateway.turns.window import Windows


def make_door(
    ground: Context,
    rooms: TurnQueues,
    memories: Memories,
    *,
    admissions: Admissions,
    questions: Questions,
    books: Accounting,
) -> Intake:
    """Where every event of every platform comes in."""
    config = ground.config
    return Intake(
        rooms=rooms,
        ledger=ground.ledger,
        transcript=ground.transcript,
        personas=ground.personas,
        accounts=ground.accounts,
        presence=ground.presence,
        access=ground.access,
        strangers=admissions.strangers,
        questions=questions,
        books=books,
        pins=make_pins(ground, memories),
        publish=ground.publish,
        clock=clock,
        mention_free=frozenset(
            bot.name or bot.platform for bot in config.bots if not bot.require_mention
        ),
        max_hops=config.turns.max_hops,
        heard=memories.hearing.heard,
        changed=memories.hearing.changed,
        trails=ground.trails,
        refused=ground.metrics.refused,
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


def make_rooms(ground: Context, middle: TurnRunner, commands: Commands) -> TurnQueues:
    """The queues, one a session."""
    return TurnQueues(
        group=ground.group,
        middle=middle,
        ledger=ground.ledger,
        transcript=ground.transcript,
        personas=ground.personas,
        accounts=ground.accounts,
        bots=ground.bots,
        commands=commands,
        marks=middle.marks,
        publish=ground.publish,
        clock=clock,
    )


def make_middle(
    ground: Context,
    sessions: SessionPool,
    memories: Memories,
    *,
    visibility: Visibility,
    prompts: Prompts,
    persona_service: PersonaService,
    admissions: Admissions,
    questions: Questions,
    books: Accounting,
) -> TurnRunner:
    """How a turn is taken."""
    config = ground.config
    return TurnRunner(
        transcript=ground.transcript,
        layers=memories.layers,
        visibility=visibility,
        prompts=prompts,
        hand_over=HandOver(
            ground.accounts,
            ground.rosters,
            config.turns.max_hops,
            ground.access,
            admissions.strangers,
            ground.transcript,
            ground.ledger,
        ),
        suggest=make_suggestions(ground, memories).after,
        ledger=ground.ledger,
        sessions=sessions,
        personas=ground.personas,
        bots=ground.bots,
        presence=ground.presence,
        questions=questions,
        marks=TurnReactions(ground.group, ground.bots, config.turns.marks),
        books=books,
        publish=ground.publish,
        measure=ground.metrics.ended,
        clock=clock,
        limits=config.turns,
        version=persona_service.number,
        redactor=ground.redactor,
        trails=ground.trails,
        waited=ground.metrics.waited,
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
