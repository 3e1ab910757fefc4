"""Alerts to operators, wired: what is looked at, and where it is told."""

from __future__ import annotations

from collections.abc import Callable

from gateway.alerts.alerts import Alerts, Send
from gateway.alerts.room import AlertRoom
from gateway.alerts.troubles import DownBots, FailedBackup, FullDisk, WaitingQuestions
from gateway.alerts.webhook import Webhook
from gateway.app.context import Context
from gateway.app.supervisor import Supervisor
from gateway.core.clock import clock
from gateway.core.ledger import Turn
from gateway.questions.questions import Questions


def make_alerts(
    context: Context,
    supervisor: Supervisor,
    questions: Questions,
    start: Callable[[Turn, str | None], None],
    backup: FailedBackup,
) -> Alerts:
    """start: begins a turn. backup: knows how the last one ended."""
    table, folder = context.config.alerts, context.config.gateway.data_dir
    sends: list[Send] = []
    if table.room:
        transcript, ledger = context.transcript, context.ledger
        sends.append(AlertRoom(table.room, context.bots, transcript, ledger, start, clock))
    if table.webhook:
        context.redactor.learn_one(table.webhook)
        sends.append(Webhook(table.webhook))
    looks = (
        DownBots(table, supervisor.health, clock),
        WaitingQuestions(table, questions.all_open, clock),
        FullDisk(table, folder),
        backup,
    )
    return Alerts(looks, sends, clock)
