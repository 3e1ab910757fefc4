"""A real broker, and workers in this process: what a gateway has on other machines."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.cli.hooks import HookListener
from gateway.app.worker import WorkerPost, run_worker
from gateway.core.clock import clock
from gateway.core.redaction import Redactor
from gateway.sessions.opener import NoSessions, Opener, SessionOpener
from gateway.sessions.programs import Programs
from gateway.settings.config import Config
from gateway.settings.tables import GatewayTable
from gateway.web.listening.listener import serving_hooks
from gateway.workers.broker import config as broker_config
from gateway.workers.broker import find
from gateway.workers.credentials import FOLDER, GATEWAY, Key, add, gateway_key
from gateway.workers.link import Link
from gateway.workers.opener import RemoteOpener, Workers
from tests.doubles.ports import free_port
from tests.doubles.running import until
from tests.doubles.service import HOUSE

DEMO = {"MOOT_DEMO_PACE": "0"}


@dataclass
class Broker:
    """A nats-server with the rules of a gateway's folder."""

    data_dir: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        gateway_key(self.data_dir)
        path = broker_config(self.data_dir, "127.0.0.1", self.port)
        with open(self.data_dir / FOLDER / "broker.log", "ab") as out:
            self.process = subprocess.Popen([find(), "-c", str(path)], stdout=out, stderr=out)

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def worker_key(self, name: str) -> Path:
        """The key of a worker that is let in from now on."""
        path = add(self.data_dir, name)
        if self.process is not None:
            self.send(signal.SIGHUP)
        return path


@asynccontextmanager
async def worker(
    broker: Broker,
    folder: Path,
    name: str,
    *,
    seats: int = 4,
    environment: Mapping[str, str] = DEMO,
) -> AsyncIterator[None]:
    """A worker in this process."""
    key = broker.data_dir / FOLDER / f"{name}.nk"
    post = WorkerPost(
        broker.url, name, Key.read(key if key.exists() else broker.worker_key(name)), seats
    )
    config = Config(gateway=GatewayTable(data_dir=folder / name))
    environment = {"PATH": os.environ["PATH"], **environment}
    stop = asyncio.Event()
    running = asyncio.create_task(run_worker(config, environment, post, stop, Redactor()))
    try:
        yield
    finally:
        stop.set()
        await running


@asynccontextmanager
async def connected(broker: Broker, lost_s: float = 1.5) -> AsyncIterator[Workers]:
    """The gateway's side."""
    workers = Workers.make(lost_s)
    key = gateway_key(broker.data_dir)
    running = asyncio.create_task(workers.run(lambda: Link.open(broker.url, key, GATEWAY)))
    try:
        yield workers
    finally:
        running.cancel()
        await asyncio.wait({running})


@asynccontextmanager
async def local_opener(
    folder: Path, environment: Mapping[str, str] = DEMO
) -> AsyncIterator[Opener]:
    async with HookListener.open(serving_hooks()) as hooks:
        programs = Programs({}, {"PATH": os.environ["PATH"], **environment}, hooks)
        yield Opener(programs=programs, ledger=NoSessions(), data_dir=folder, clock=clock)


@asynccontextmanager
async def remote_opener(folder: Path) -> AsyncIterator[SessionOpener]:
    """Its programs run on a worker."""
    broker = Broker(folder / "gateway")
    broker.worker_key("w1")
    broker.start()
    try:
        async with (
            connected(broker) as workers,
            worker(broker, folder, "w1"),
            local_opener(folder / "gateway") as local,
        ):
            await until(lambda: workers.fleet.seats > 0)
            yield RemoteOpener(
                workers=workers,
                local=local,
                local_seats=0,
                ledger=NoSessions(),
                clock=clock,
                door=None,
            )
    finally:
        broker.kill()


@dataclass
class WorkerProcess:
    """`moot worker run` as a process of its own, as an operator starts it."""

    broker: Broker
    folder: Path
    name: str
    config: str = ""
    process: subprocess.Popen[bytes] | None = None
    nats: str = ""  # where it reaches the broker; "": directly

    def start(self, **environment: str) -> None:
        home = self.folder / self.name
        home.mkdir(exist_ok=True)
        (home / "moot.toml").write_text(self.config)
        key = self.broker.data_dir / FOLDER / f"{self.name}.nk"
        with open(home / "worker.log", "ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-c", "from gateway.main import main; main()"),
                    *("worker", "run", "--nats", self.nats or self.broker.url),
                    *("--name", self.name),
                    *("--key", str(key), "--seats", "4"),
                ],
                cwd=home,
                env={
                    "PATH": os.environ["PATH"],
                    "LANG": "C.UTF-8",
                    "HOME": str(home),
                    "MOOT_HOME": str(home),
                    "PYTHONPATH": str(HOUSE),
                    **environment,
                },
                stdout=log,
                stderr=log,
            )

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.send(number)
            self.process.wait(20)
            self.process = None

    def log(self) -> str:
        return (self.folder / self.name / "worker.log").read_text("utf-8", "replace")
