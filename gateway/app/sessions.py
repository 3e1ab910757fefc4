"""Personas and the sessions in which their agents live."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from gateway.app.context import Context
from gateway.core.clock import clock
from gateway.core.events import PersonasChanged
from gateway.core.private_folders import FILES
from gateway.mcp.endpoint import KeptFiles, McpEndpoint
from gateway.observability.metering import memory_bytes
from gateway.personas.service import PersonaService
from gateway.personas.versions import Versions
from gateway.remembering.memories import Memories
from gateway.sessions.bounds import bounds_of
from gateway.sessions.capacity import Capacity, FixedCapacity, MemoryCapacity
from gateway.sessions.logins import LoginSecrets
from gateway.sessions.machine_erasures import MachineErasures
from gateway.sessions.opener import Opener, SessionOpener
from gateway.sessions.pool import SessionPool
from gateway.sessions.sandbox import Sandboxing
from gateway.sessions.sessions import AgentProgram
from gateway.settings.config import Config
from gateway.settings.connections import WorkersTable
from gateway.settings.personas.personas import Personas
from store.database import Store

if TYPE_CHECKING:  # it brings the client of NATS, which only who has workers needs
    from adapters.cli.hooks import HookListener
    from gateway.personas.following import PersonaFollower
    from gateway.sessions.homes.keeper import HomeKeeper
    from gateway.workers.opener import Workers


def make_persona_follower(
    config: Config, personas: Personas, store: Store
) -> PersonaFollower | None:
    """Of a database that several gateways may know."""
    if store.dialect == "sqlite":
        return None
    from gateway.personas.following import PersonaFollower

    gateway = config.gateway
    return PersonaFollower(
        personas, store, folder=gateway.personas_dir, data_dir=gateway.data_dir, clock=clock
    )


def make_persona_service(context: Context) -> PersonaService:
    """The keeper of the personas' files and their versions."""
    return PersonaService(
        context.personas,
        Versions(context.store, clock),
        own_folder=context.config.gateway.personas_dir,
        audit=context.audit,
        changed=lambda: context.bus.publish(PersonasChanged()),
        follower=make_persona_follower(context.config, context.personas, context.store),
    )


def make_sessions(
    context: Context,
    memories: Memories,
    programs: Callable[[str], AgentProgram],
    hooks: HookListener | None,
    sandboxing: Sandboxing | None,
    workers: Workers | None = None,
    homes: HomeKeeper | None = None,
) -> SessionPool:
    """Sessions on this machine and on workers. hooks: where their agents reach the memory, if they
    may. homes: keeps what they record for other machines."""
    config = context.config
    endpoint = _memory_door(context, memories, hooks)
    opener = _own_opener(context, programs, endpoint, hooks, sandboxing)
    opener.homes = homes
    most = config.sessions.most
    capacity: Capacity = FixedCapacity(most) if most else MemoryCapacity(memory_bytes())
    local = config.workers.local if config.workers is not None else 0
    made: SessionOpener = opener
    if workers is not None and config.workers is not None:
        capacity = FixedCapacity(local)
        made = _opener_of_workers(context, config.workers, workers, opener, endpoint)
    pool = SessionPool(
        opener=made,
        ledger=context.ledger,
        clock=clock,
        counts=context.metrics,
        capacity=capacity,
        sleep_s=config.sessions.sleep_s,
        as_set=context.settings.applied,
    )
    if workers is not None:
        workers.serve(
            lambda seats: pool.fit(FixedCapacity(seats + local)), pool.end_scope, pool.spare
        )
        context.bus.listeners.add(workers.answers.hear)
        workers.fleet.hop = context.metrics.watch_workers(workers.fleet.figures).hop
    return pool


def _own_opener(
    context: Context,
    programs: Callable[[str], AgentProgram],
    door: McpEndpoint | None,
    hooks: HookListener | None,
    sandboxing: Sandboxing | None,
) -> Opener:
    """Of sessions on this machine."""
    config = context.config
    own_hosts = (hooks.endpoint,) if hooks else ()
    logins = LoginSecrets(context.redactor.learn)
    logins.learn_all(config, context.personas)
    opener = Opener(
        programs=programs,
        ledger=context.ledger,
        data_dir=config.gateway.data_dir,
        clock=clock,
        sandboxing=sandboxing,
        memory_door=door,
        learn=logins,
        bounds=lambda persona: bounds_of(config, persona, memory_bytes(), own_hosts),
    )
    opener.elsewhere = MachineErasures(context.store, config.gateway.data_dir)
    return opener


def _opener_of_workers(
    context: Context,
    table: WorkersTable,
    workers: Workers,
    own: Opener,
    door: McpEndpoint | None,
) -> SessionOpener:
    """Of sessions on workers, and on this machine where they are full."""
    from gateway.workers.opener import RemoteOpener

    return RemoteOpener(
        workers=workers,
        local=own,
        local_seats=table.local,
        ledger=context.ledger,
        clock=clock,
        door=door,
        pools={name: pool.names for name, pool in table.pools.items()},
    )


def make_keeper(context: Context, workers: Workers | None) -> HomeKeeper | None:
    """The keeper of what agents record, where there is a store that other machines reach."""
    store = context.files.store
    if workers is None and store is None:
        return None
    from gateway.sessions.homes.keeper import HomeKeeper
    from gateway.sessions.homes.records import Records

    if workers is None:
        assert store is not None
        return HomeKeeper(Records(context.store, store), context.config.files.bucket or "")
    from gateway.workers.file_store import BrokerBucket
    from gateway.workers.link import HOMES

    workers.answers.records = Records(context.store, BrokerBucket(HOMES, workers.linked))
    return HomeKeeper(workers.answers.records)


def _memory_door(
    context: Context, memories: Memories, hooks: HookListener | None
) -> McpEndpoint | None:
    config = context.config
    if hooks is None or not config.memory.mcp:
        return None
    folder, most_bytes = config.gateway.data_dir / FILES, config.turns.file_mb * 1_000_000
    kept = KeptFiles(folder, most_bytes, context.files.keep)
    return McpEndpoint(hooks, memories.tools, context.spawn, kept)


def make_workers(context: Context) -> Workers | None:
    """Workers, where there are to be any."""
    if (table := context.config.workers) is None:
        return None
    from gateway.workers.credentials import places_of
    from gateway.workers.erasures import Erasures
    from gateway.workers.opener import Workers

    places = partial(places_of, context.config.gateway.data_dir)
    return Workers.make(table.lost_s, Erasures(context.store, places, clock))


async def run_workers(context: Context, workers: Workers) -> None:
    """Be connected with them, for ever, by a broker of Moot's own where none is named."""
    table, data_dir = context.config.workers, context.config.gateway.data_dir
    assert table is not None
    from gateway.workers.broker import serving
    from gateway.workers.credentials import GATEWAY, gateway_key
    from gateway.workers.link import Link

    key = gateway_key(data_dir)
    async with AsyncExitStack() as stack:
        if table.embedded is not None:
            await stack.enter_async_context(serving(data_dir, *table.embedded))
        await workers.run(lambda: Link.open(table.url, key, GATEWAY))
