"""Personas and the sessions in which their agents live."""

from __future__ import annotations

from collections.abc import Callable

from adapters.cli.hooks import HookListener
from gateway.app.context import Context
from gateway.core.clock import clock
from gateway.core.events import PersonasChanged
from gateway.mcp.endpoint import KeptFiles, McpEndpoint
from gateway.observability.metering import memory_bytes, most_sessions
from gateway.personas.service import PersonaService
from gateway.personas.versions import Versions
from gateway.remembering.memories import Memories
from gateway.sessions.bounds import bounds_of
from gateway.sessions.logins import LoginSecrets
from gateway.sessions.opener import Opener
from gateway.sessions.pool import SessionPool
from gateway.sessions.sandbox import Sandboxing
from gateway.sessions.sessions import AgentProgram


def make_persona_service(context: Context) -> PersonaService:
    """The keeper of the personas' files and their versions."""
    return PersonaService(
        context.personas,
        Versions(context.store, clock),
        own_folder=context.config.gateway.personas_dir,
        audit=context.audit,
        changed=lambda: context.bus.publish(PersonasChanged()),
    )


def make_sessions(
    context: Context,
    memories: Memories,
    programs: Callable[[str], AgentProgram],
    hooks: HookListener | None,
    sandboxing: Sandboxing | None,
) -> SessionPool:
    """Sessions on this machine. hooks: where their agents reach the memory, if they may."""
    config = context.config
    endpoint = None
    own_hosts = (hooks.endpoint,) if hooks else ()
    if hooks and config.memory.mcp:
        most_bytes = config.turns.file_mb * 1_000_000
        kept = KeptFiles(config.gateway.data_dir / "files", most_bytes)
        endpoint = McpEndpoint(hooks, memories.tools, context.spawn, kept)
    logins = LoginSecrets(context.redactor.learn)
    logins.learn_all(config, context.personas)
    opener = Opener(
        programs=programs,
        ledger=context.ledger,
        data_dir=config.gateway.data_dir,
        clock=clock,
        sandboxing=sandboxing,
        memory_door=endpoint,
        learn=logins,
        bounds=lambda persona: bounds_of(config, persona, memory_bytes(), own_hosts),
    )
    return SessionPool(
        opener=opener,
        ledger=context.ledger,
        clock=clock,
        counts=context.metrics,
        most=config.sessions.most or most_sessions(memory_bytes()),
        sleep_s=config.sessions.sleep_s,
        as_set=context.settings.applied,
    )
