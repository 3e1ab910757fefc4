"""Who may do what: roles, questions, limits and what is written down of it."""

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


def make_admissions(ground: Context, start: Start) -> Admissions:
    """start: see Pairings."""
    return Admissions.over(
        ground.store,
        ground.ledger,
        ground.access,
        ground.audit,
        clock,
        start=start,
        changed=lambda: ground.publish(AccessChanged()),
    )


def make_questions(ground: Context) -> Questions:
    """The permission questions of every session."""
    return Questions(
        ledger=ground.ledger,
        access=ground.access,
        audit=ground.audit,
        publish=ground.publish,
        clock=clock,
        timeout_s=ground.config.turns.question_timeout_s,
        clean=ground.redactor.clean,
        decided=ground.metrics.decided,
    )


def make_books(ground: Context) -> Accounting:
    """The audit log, the usage and the limits."""
    config = ground.config
    return Accounting(
        audit=ground.audit,
        usage=UsageBook(ground.store, clock, ground.zone, config.prices),
        limits=Limits(
            config.limits, store=ground.store, access=ground.access, clock=clock, zone=ground.zone
        ),
        ledger=ground.ledger,
        count=ground.metrics.usage.took,
        clock=clock,
    )
