"""Personas and the sessions in which their agents live."""

from __future__ import annotations

from collections.abc import Callable

from adapters.cli.hooks import HookListener
from gateway.app.context import Context
from gateway.core.clock import clock
from gateway.core.events import PersonasChanged
from gateway.mcp.endpoint import McpEndpoint
from gateway.observability.metering import memory_bytes, most_sessions
from gateway.personas.service import PersonaService
from gateway.personas.versions import Versions
from gateway.remembering.memories import Memories
from gateway.sessions.opener import Opener
from gateway.sessions.pool import SessionPool
from gateway.sessions.room_settings import RoomSettings
from gateway.sessions.sandbox import Sandboxing
from gateway.sessions.sessions import AgentProgram


def make_persona_desk(ground: Context) -> PersonaService:
    """Who keeps the personas' files and their versions."""
    return PersonaService(
        ground.personas,
        Versions(ground.store, clock),
        own_folder=ground.config.gateway.personas_dir,
        audit=ground.audit,
        changed=lambda: ground.publish(PersonasChanged()),
    )


def make_sessions(
    ground: Context,
    settings: RoomSettings,
    memories: Memories,
    programs: Callable[[str], AgentProgram],
    hooks: HookListener | None,
    sandboxing: Sandboxing | None,
) -> SessionPool:
    """Sessions on this machine. hooks: where their agents reach the memory, if they may."""
    config = ground.config
    door = McpEndpoint(hooks, memories.tools, ground.spawn) if hooks and config.memory.mcp else None
    opener = Opener(
        programs=programs,
        ledger=ground.ledger,
        data_dir=config.gateway.data_dir,
        clock=clock,
        sandboxing=sandboxing,
        memory_door=door,
    )
    return SessionPool(
        opener=opener,
        ledger=ground.ledger,
        clock=clock,
        counts=ground.metrics,
        most=config.sessions.most or most_sessions(memory_bytes()),
        sleep_s=config.sessions.sleep_s,
        as_set=settings.applied,
    )
