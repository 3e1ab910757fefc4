"""The services behind the page and the HTTP API."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.access.service import AccessService
from gateway.audit.audit import Audit
from gateway.core.events import EventBus
from gateway.limits.usage import UsageBook
from gateway.personas.dry_run import DryRuns
from gateway.personas.service import PersonaService
from gateway.schedules.service import ScheduleService
from gateway.web.admin.service import AdminServices
from gateway.web.chat import AgentService, ChatService
from gateway.web.inbox import InboxService
from gateway.web.memory.room_memory import RoomMemoryService
from gateway.web.monitor import Monitor


@dataclass(frozen=True, slots=True)
class Services:
    """One for each group of routes. Whoever reaches the page is an owner: see web/auth.py."""

    inbox: InboxService
    chat: ChatService
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
