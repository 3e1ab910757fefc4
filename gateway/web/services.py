"""The services behind the page and the HTTP API."""

from __future__ import annotations

from contract.values import dataclass
from gateway.access.service import AccessService
from gateway.audit.audit import Audit
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
from gateway.web.signin.visitors import Visitors


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
