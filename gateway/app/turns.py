"""The way of a message: through the door into a room's queue, to a session and back."""

from __future__ import annotations

from collections.abc import Callable

from gateway.access.admissions import Admissions
from gateway.app.context import Ground
from gateway.app.memory import make_pins, make_suggestions
from gateway.core.clock import clock
from gateway.limits.accounting import Books
from gateway.personas.dry_run import Rehearsal
from gateway.personas.service import PersonaDesk
from gateway.questions.questions import Questions
from gateway.remembering.memories import Memories
from gateway.schedules.rows import ScheduleRows
from gateway.schedules.schedules import Schedules
from gateway.sessions.pool import LocalSessions
from gateway.turns.briefing import Briefings
from gateway.turns.commands import Commands
from gateway.turns.handover import HandOver
from gateway.turns.intake import Door
from gateway.turns.queue import Rooms
from gateway.turns.reactions import Marks
from gateway.turns.turn import Middle
from gateway.turns.window import Windows


def make_door(
    ground: Ground,
    rooms: Rooms,
    memories: Memories,
    *,
    admissions: Admissions,
    questions: Questions,
    books: Books,
) -> Door:
    """Where every event of every platform comes in."""
    config = ground.config
    return Door(
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


def make_schedules(ground: Ground, door: Callable[[], Door]) -> Schedules:
    """What is asked by itself. door: it goes in there, like a message."""
    return Schedules(
        ScheduleRows(ground.store),
        door=door,
        ledger=ground.ledger,
        transcript=ground.transcript,
        access=ground.access,
        personas=ground.personas,
        bots=ground.bots,
        table=ground.config.scheduling,
        zone=ground.zone,
        clock=clock,
        note=ground.audit.note,
        count=ground.metrics.scheduled,
    )


def make_rooms(ground: Ground, middle: Middle, commands: Commands) -> Rooms:
    """The queues, one a session."""
    return Rooms(
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
    ground: Ground,
    sessions: LocalSessions,
    memories: Memories,
    *,
    briefings: Briefings,
    persona_desk: PersonaDesk,
    admissions: Admissions,
    questions: Questions,
    books: Books,
) -> Middle:
    """How a turn is taken."""
    config = ground.config
    return Middle(
        transcript=ground.transcript,
        windows=briefings.windows,
        layers=memories.layers,
        briefings=briefings,
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
        marks=Marks(ground.group, ground.bots, config.turns.marks),
        books=books,
        publish=ground.publish,
        measure=ground.metrics.ended,
        clock=clock,
        limits=config.turns,
        version=persona_desk.number,
        redactor=ground.redactor,
        trails=ground.trails,
        waited=ground.metrics.waited,
    )


def make_briefings(ground: Ground, memories: Memories) -> Briefings:
    """What an agent is told with a message."""
    config = ground.config
    budget = config.budget.budget()
    return Briefings(
        transcript=ground.transcript,
        windows=Windows(
            ground.transcript, memories.episodes.covered, budget, config.turns.full_window
        ),
        layers=memories.layers,
        members=memories.members,
        bots=ground.bots,
        accounts=ground.accounts,
        rosters=ground.rosters,
        timezone=config.gateway.timezone,
        budget=budget,
        max_hops=config.turns.max_hops,
    )


def make_rehearsal(ground: Ground, briefings: Briefings, sessions: LocalSessions) -> Rehearsal:
    """Where a persona is tried before it is kept."""
    return Rehearsal(
        briefings=briefings,
        windows=briefings.windows,
        transcript=ground.transcript,
        personas=ground.personas,
        bots=ground.bots,
        opener=sessions.opener,
        data_dir=ground.config.gateway.data_dir,
        clock=clock,
    )
