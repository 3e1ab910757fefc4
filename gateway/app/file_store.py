"""The files of messages, and the store of them that several machines reach, as it is configured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog

from gateway.core.private_folders import FILES
from gateway.files.shared import SharedFiles
from gateway.files.store import FileStore
from gateway.sessions.machine_erasures import MachineErasures
from gateway.settings.config import Config
from store.health import StoreRefusal

log = structlog.stdlib.get_logger("moot.files")

KEY_ID, KEY = "MOOT_BUCKET_KEY_ID", "MOOT_BUCKET_SECRET_KEY"


@asynccontextmanager
async def open_store(
    config: Config, environment: Mapping[str, str]
) -> AsyncIterator[FileStore | None]:
    """The store of `[files]`; None: files stay on this machine. Raises ConfigError."""
    if config.files.store == "s3":
        from gateway.files.s3 import open_s3

        yield open_s3(config.files, environment.get(KEY_ID), environment.get(KEY))
    elif config.files.store == "nats":
        from gateway.workers.credentials import GATEWAY, gateway_key
        from gateway.workers.file_store import broker_files
        from gateway.workers.link import Link

        assert config.workers is not None  # the configuration is refused without it
        url, key = config.workers.url, gateway_key(config.gateway.data_dir)
        async with broker_files(lambda: Link.open(url, key, GATEWAY)) as files:
            yield files
    else:
        yield None


@asynccontextmanager
async def open_files(
    config: Config, environment: Mapping[str, str], erasures: MachineErasures
) -> AsyncIterator[SharedFiles]:
    """The files of this machine, without those that were erased elsewhere; what waits for its store
    is put there, also while another gateway leads. Raises ConfigError."""
    try:
        await erasures.carry_out()
    except StoreRefusal as error:  # it is done in any case before this one leads
        log.warning("erasure.not_carried_out", reason=str(error))
    async with open_store(config, environment) as store:
        files = SharedFiles(config.gateway.data_dir / FILES, store)
        putting = asyncio.create_task(files.catch_up(), name="files that wait for their store")
        try:
            yield files
        finally:
            putting.cancel()
            await asyncio.wait([putting])
