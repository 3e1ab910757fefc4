"""Background jobs that run as long as Moot does, each a task with a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import time
from functools import partial

from gateway.alerts.alerts import Alerts
from gateway.alerts.troubles import FailedBackup
from gateway.app.context import Context
from gateway.app.supervisor import Supervisor
from gateway.core.clock import clock
from gateway.core.events import BotsChanged
from gateway.remembering.idle import IdleSessions
from gateway.remembering.memories import Memories
from gateway.remembering.nightly import nightly
from gateway.schedules.runner import ScheduleRunner
from gateway.sessions.pool import SessionPool
from gateway.sessions.watcher import SessionWatcher
from gateway.turns.intake import Intake


def make_supervisor(context: Context) -> Supervisor:
    """The supervisor, which keeps the bots running and knows how they fare."""
    made = Supervisor(context.bots.values(), changed=lambda: context.bus.publish(BotsChanged()))
    for name, health in made.health.items():
        context.metrics.watch_bot(name, health)
    return made


def begin_jobs(
    context: Context,
    *,
    idle: IdleSessions,
    sessions: SessionPool,
    schedules: ScheduleRunner,
    memories: Memories,
    supervisor: Supervisor,
    intake: Intake,
    alerts: Alerts,
    backup: FailedBackup,
) -> None:
    """Sessions fall asleep, schedules come due, bots listen, operators are told
    what needs them, and at night things are tidied."""
    group, config = context.group, context.config
    group.create_task(idle.run(), name="idle sessions")
    group.create_task(sessions.run(), name="sleeping sessions")
    watcher = SessionWatcher(
        sessions.held,
        config.gateway.data_dir,
        sessions.measured,
        sessions.unmeasured,
        sessions.begun,
    )
    group.create_task(watcher.run(), name="limits of sessions")
    group.create_task(schedules.run(intake), name="schedules")
    group.create_task(memories.hearing.run(), name="memory hears")
    for bot in context.bots.values():
        group.create_task(supervisor.run(bot, intake.receive), name=f"bot {bot.name}")
    tidy = partial(_consolidate, memories)
    _nightly(context, "memory consolidates", config.memory.consolidates, tidy)
    group.create_task(alerts.run(), name="alerts")
    _nightly(context, "daily backup", config.backup.at, partial(_back_up, context, backup))


async def _consolidate(memories: Memories) -> None:
    await memories.consolidation.run_all()  # it is made, and imported, at night


async def _back_up(context: Context, backup: FailedBackup) -> None:
    from gateway.backup.backup import back_up_daily  # with it come archives and all profiles

    await back_up_daily(context.config, clock(), clean=context.redactor, told=backup.told)


def _nightly(
    context: Context, name: str, at: time | None, work: Callable[[], Awaitable[object]]
) -> None:
    """at: None for never."""
    if at is not None:
        task = nightly(work, at=at, zone=context.zone, clock=clock)
        context.group.create_task(task, name=name)
