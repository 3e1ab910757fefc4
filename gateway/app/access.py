"""The part that decides who may do what: roles, questions, limits and the record of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.access.admissions import Admissions
from gateway.access.pairings import Start
from gateway.app.context import Context
from gateway.core.clock import clock
from gateway.core.events import AccessChanged
from gateway.limits.accounting import Accounting
from gateway.limits.limits import Limits
from gateway.limits.usage import UsageBook
from gateway.questions.questions import Questions
from gateway.web.signin.own_token import PageSecrets
from gateway.web.signin.secret import owner_secret
from gateway.web.signin.visitors import Visitors, visitors_of

if TYPE_CHECKING:
    from gateway.settings.oidc import OidcTable
    from gateway.web.signin.oidc_api import Oidc


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
    return Accounting(
        audit=context.audit,
        usage=UsageBook(context.store, clock, context.zone, config.prices),
        limits=Limits(
            config.limits,
            store=context.store,
            access=context.access,
            clock=clock,
            zone=context.zone,
        ),
        ledger=context.ledger,
        count=context.metrics.usage.took,
        clock=clock,
    )


def make_visitors(context: Context, admissions: Admissions, secrets: PageSecrets) -> Visitors:
    """Who may come to the page."""
    visitors = visitors_of(
        context.store,
        context.access,
        admissions.grants,
        context.audit,
        secret=owner_secret(context.config.gateway.data_dir),
        own=secrets.own,
        changed=lambda: context.bus.publish(AccessChanged()),
        learn=context.redactor.learn_one,
    )
    if (table := context.config.oidc) is None:
        return visitors
    return replace(visitors, oidc=_oidc(context, table, secrets.oidc, visitors))


def _oidc(context: Context, table: OidcTable, secret: str | None, visitors: Visitors) -> Oidc:
    """A provider's people. Its library is imported only for who has one."""
    from gateway.web.signin.oidc_api import Oidc
    from gateway.web.signin.provider import OidcProvider
    from gateway.web.signin.rows import PageRows
    from gateway.web.signin.subjects import NewNames, PageSubjects

    if secret:
        context.redactor.learn_one(secret)
    names = NewNames(context.access, lambda: context.personas.good, context.transcript.people)
    rows, people = PageRows(context.store), visitors.people
    return Oidc(OidcProvider(table, secret), PageSubjects(table, rows, people, names, clock))
