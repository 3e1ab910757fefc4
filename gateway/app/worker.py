"""A worker from start to end: agents on this machine for a gateway elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping

import structlog

from adapters.cli.hooks import HookListener
from adapters.pty.open_files import OPEN_FILES
from adapters.session.version import keep_versions
from contract.values import dataclass
from gateway.core.clock import clock
from gateway.core.lock import hold
from gateway.core.private_folders import keep_private
from gateway.core.redaction import Redactor
from gateway.observability.metering import memory_bytes
from gateway.sessions.bounds import bounds_of
from gateway.sessions.capacity import MemoryCapacity
from gateway.sessions.logins import LoginSecrets
from gateway.sessions.opener import NoSessions, Opener
from gateway.sessions.programs import Programs
from gateway.sessions.sandbox import Sandboxing
from gateway.sessions.watcher import SessionWatcher
from gateway.settings.config import Config
from gateway.settings.personas.workspaces import configured_workspaces
from gateway.web.listening.listener import serving_hooks
from gateway.workers.credentials import Key
from gateway.workers.door import RemoteDoor
from gateway.workers.messages import OfSession
from gateway.workers.worker import Worker

log = structlog.stdlib.get_logger("moot.workers")


@dataclass(frozen=True, slots=True)
class WorkerPost:
    """Where a worker works. nats: the broker's address. seats: the most programs; None: as many as
    this machine has room for."""

    nats: str
    name: str
    key: Key
    seats: int | None = None


async def run_worker(
    config: Config,
    environment: Mapping[str, str],
    post: WorkerPost,
    stop: asyncio.Event,
    redactor: Redactor,
) -> None:
    """Work until `stop` is set. Of the configuration [agents], [sandbox] and the data directory
    count here. Raises MootError."""
    from gateway.workers.link import Link

    data_dir = config.gateway.data_dir
    keep_private(data_dir)
    with hold(data_dir):
        async with (
            HookListener.open(serving_hooks()) as hooks,
            Link.open(post.nats, post.key, post.name) as link,
        ):
            redactor.learn_one(hooks.secret)
            keep_versions(data_dir / "versions.json")
            OPEN_FILES.raise_limit()

            def door(lease: OfSession) -> RemoteDoor:
                return RemoteDoor(link, post.name, hooks, lease)

            worker = Worker(
                link=link,
                name=post.name,
                seats=post.seats or MemoryCapacity(memory_bytes()).most(Counter()),
                opener=_opener(config, environment, hooks, redactor),
                data_dir=data_dir,
                door=door,
                redactor=redactor,
                workspaces=configured_workspaces(config),
            )
            log.info("worker.serving", worker=post.name, seats=worker.seats)
            watcher = SessionWatcher(worker.held, data_dir, begun=worker.begun)
            await _until(stop, worker, watcher, config.gateway.shutdown_s)


async def _until(
    stop: asyncio.Event, worker: Worker, watcher: SessionWatcher, shutdown_s: float
) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(worker.run(), name="worker"),
            group.create_task(watcher.run(), name="limits of sessions"),
        ]
        await stop.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(shutdown_s):
                await worker.drain()
        for task in tasks:
            task.cancel()


def _opener(
    config: Config, environment: Mapping[str, str], hooks: HookListener, redactor: Redactor
) -> Opener:
    return Opener(
        programs=Programs(config.agents, environment, hooks),
        ledger=NoSessions(),
        data_dir=config.gateway.data_dir,
        clock=clock,
        sandboxing=Sandboxing(config, environment.get("PATH", "")),
        learn=LoginSecrets(redactor.learn),
        bounds=lambda persona: bounds_of(config, persona, memory_bytes(), (hooks.endpoint,)),
    )
