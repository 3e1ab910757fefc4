"""The part that decides who may do what: roles, questions, limits and the record of it."""

from __future__ import annotations

from gateway.access.admissions import Admissions
from gateway.access.pairings import Start
from gateway.app.context import Context
from gateway.core.clock import clock
from gateway.core.events import AccessChanged
from gateway.limits.accounting import Accounting
from gateway.limits.limits import Limits
from gateway.limits.usage import UsageBook
from gateway.questions.questions import Questions
from gateway.settings.limits import LimitsTable


def make_admissions(context: Context, start: Start) -> Admissions:
    """start: see Pairings."""
    return Admissions.over(
        context.store,
        context.ledger,
        context.access,
        context.audit,
        clock,
        start=start,
        changed=lambda: context.bus.publish(AccessChanged()),
    )


def make_questions(context: Context) -> Questions:
    """The permission questions of every session."""
    return Questions(
        ledger=context.ledger,
        access=context.access,
        audit=context.audit,
        publish=context.bus.publish,
        clock=clock,
        timeout_s=context.config.turns.question_timeout_s,
        clean=context.redactor.clean,
        decided=context.metrics.decided,
    )


def make_accounting(context: Context) -> Accounting:
    """The audit log, the usage and the limits."""
    config = context.config
    limits = None
    if config.limits != LimitsTable():
        limits = Limits(
            config.limits,
            store=context.store,
            access=context.access,
            clock=clock,
            zone=context.zone,
        )
    return Accounting(
        audit=context.audit,
        usage=UsageBook(context.store, clock, context.zone, config.prices),
        limits=limits,
        ledger=context.ledger,
        count=context.metrics.usage.took,
        clock=clock,
    )
