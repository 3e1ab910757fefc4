"""The services behind the page and the HTTP API."""

from __future__ import annotations

import time
from collections.abc import Callable

from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.grants import Grants
from gateway.access.service import AccessService
from gateway.audit.audit import Audit
from gateway.core.clock import clock
from gateway.core.events import EventBus
from gateway.limits.usage import UsageBook
from gateway.personas.choices import AgentChoices
from gateway.personas.dry_run import DryRuns
from gateway.personas.service import PersonaService
from gateway.schedules.service import ScheduleService
from gateway.setup.connecting import Connecting
from gateway.web.admin.service import AdminServices
from gateway.web.chat import AgentService, ChatService
from gateway.web.inbox import InboxService
from gateway.web.memory.room_memory import RoomMemoryService
from gateway.web.messages.api import TalkServices
from gateway.web.monitor import Monitor
from gateway.web.settings.service import SettingsService
from gateway.web.signin.attempts import Attempts
from gateway.web.signin.oidc_api import Oidc
from gateway.web.signin.people import Noted, PagePeople
from gateway.web.signin.rows import PageRows
from gateway.web.signin.tokens import PageTokens
from store.database import Store


@dataclass(frozen=True, slots=True)
class Visitors:
    """Who may come to the page, and what they may there. oidc: where else they may sign in."""

    people: PagePeople
    tokens: PageTokens
    attempts: Attempts
    access: Access
    audit: Noted
    oidc: Oidc | None = None

    async def load(self) -> None:
        """Read what is known of them; before the first request."""
        state = await self.people.load()
        self.tokens.load(state.tokens)
        if self.oidc is not None:
            self.oidc.subjects.load(state.subjects)


@dataclass(frozen=True, slots=True)
class Services:
    """One for each group of routes. Which are owners' alone says web/auth.py."""

    inbox: InboxService
    chat: ChatService
    talk: TalkServices
    agents: AgentService
    monitor: Monitor
    events: EventBus
    memory: RoomMemoryService
    audit: Audit
    usage: UsageBook
    access: AccessService
    admin: AdminServices
    schedules: ScheduleService
    personas: PersonaService
    dry_runs: DryRuns
    choices: AgentChoices
    visitors: Visitors
    settings: SettingsService | None = None
    connecting: Connecting | None = None


def visitors_of(
    store: Store,
    access: Access,
    grants: Grants,
    audit: Audit,
    *,
    secret: str,
    own: str | None = None,
    changed: Callable[[], None] = lambda: None,
    learn: Callable[[str], None] = lambda value: None,
) -> Visitors:
    """Those of a database. own: MOOT_TOKEN. changed: told when a list of the page would differ.
    learn: told what is never to be shown."""
    rows, attempts = PageRows(store), Attempts(time.monotonic)
    tokens = PageTokens(
        rows,
        secret=secret,
        own=own,
        attempts=attempts,
        audit=audit,
        clock=clock,
        learn=learn,
    )
    people = PagePeople(
        rows,
        access=access,
        roles=grants,
        programs=tokens,
        audit=audit,
        clock=clock,
        changed=changed,
    )
    return Visitors(people, tokens, attempts, access, audit)
