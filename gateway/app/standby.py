"""A gateway beside the one that leads: it serves what can be read, until that one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from gateway.app.app import App
from gateway.app.ending import tasks_of_block
from gateway.app.service_manager import Notify, keep_alive
from gateway.settings.config import Config
from store.database import Store
from store.leading import BEAT_S, Lead, candidate

log = structlog.stdlib.get_logger("moot.app")

MakeReading = Callable[[asyncio.TaskGroup, Store], App]
"""Makes the parts of a gateway that only reads, from a database that is opened so."""


class StoppedWaiting(Exception):
    """It was asked to end before it could lead."""


@asynccontextmanager
async def leading(
    config: Config, store: Store, reading: MakeReading, stop: asyncio.Event, notify: Notify
) -> AsyncIterator[Lead | None]:
    """Wait for the lead on a database that several gateways may know, and keep it in the block.
    None: nobody else can know it. reading: who is there for people meanwhile.

    Raises StoppedWaiting.
    """
    engine = store.lone_engine()
    if engine is None:
        yield None
        return
    async with candidate(engine) as lead:
        if not await lead.take():
            await _stand_by(config.store_url, lead, reading, stop, notify)
            if lead.epoch is None:
                raise StoppedWaiting
        store.lead = lead
        log.info("lead.ours", epoch=lead.epoch)
        beating = asyncio.create_task(lead.keep(), name="beats of the lead")
        try:
            yield lead
            if not lead.lost:
                await store.flush()  # what is written after it is another one's
        finally:
            beating.cancel()
            await asyncio.wait([beating])


async def _stand_by(
    url: str, lead: Lead, reading: MakeReading, stop: asyncio.Event, notify: Notify
) -> None:
    """Return when this one leads, or when it is to end; until then people read here."""
    async with (
        Store.open(url, read_only=True) as store,
        tasks_of_block() as group,
        reading(group, store).serve_reads(lambda: lead.leader),
    ):
        group.create_task(keep_alive(notify), name="watchdog")
        await _wait(lead, stop, notify)


async def _wait(lead: Lead, stop: asyncio.Event, notify: Notify) -> None:
    told = None
    while not await lead.take():
        if told != lead.leader:
            told = lead.leader
            log.info("gateway.stands_by", leader=told)
            notify(f"READY=1\nSTATUS=standing by: {told} leads")
        if await _within(stop, BEAT_S):
            return


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
