"""A gateway beside the one that leads: it waits until that is gone, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from contract.language import say
from gateway.app.service_manager import Notify, keep_alive
from gateway.settings.config import Config
from gateway.web.listening.configured import connection_limits
from gateway.web.listening.listener import HEALTH, listening
from gateway.web.plain_json import error, plain_answer
from store.database import Store
from store.leading import BEAT_S, Lead, candidate

log = structlog.stdlib.get_logger("moot.app")


class StoppedWaiting(Exception):
    """It was asked to end before it could lead."""


@asynccontextmanager
async def leading(
    config: Config, store: Store, stop: asyncio.Event, notify: Notify
) -> AsyncIterator[Lead | None]:
    """Wait for the lead on a database that several gateways may know, and keep it in the block.
    None: nobody else can know it.

    Raises StoppedWaiting.
    """
    engine = store.lone_engine()
    if engine is None:
        yield None
        return
    async with candidate(engine) as lead:
        if not await lead.take():
            await _stand_by(config, lead, stop, notify)
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


async def _stand_by(config: Config, lead: Lead, stop: asyncio.Event, notify: Notify) -> None:
    """Return when this one leads; until then it answers whoever asks who does."""
    gateway = config.gateway
    app = make_standby(lead)
    limits = connection_limits(config)
    async with listening(app, "gateway.listen", gateway.host, gateway.port, limits, shutdown_s=0.2):
        alive = asyncio.create_task(keep_alive(notify), name="watchdog")
        try:
            told = None
            while not await lead.take():
                if told != lead.leader:
                    told = lead.leader
                    log.info("gateway.stands_by", leader=told)
                    notify(f"READY=1\nSTATUS=standing by: {told} leads")
                if await _within(stop, BEAT_S):
                    raise StoppedWaiting
        finally:
            alive.cancel()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


def make_standby(lead: Lead) -> web.Application:
    """What it serves: who leads, and that nothing else is to be had here."""

    async def health(request: web.Request) -> web.Response:
        well = request.query.get("standby") == "ok"
        return plain_answer(
            {"ok": well, "standby": True, "leader": lead.leader}, 200 if well else 503
        )

    async def refuse(_request: web.Request) -> web.Response:
        line = say(
            "this Moot stands by: another one leads ({leader}); ask that one",
            leader=lead.leader or "?",
        )
        response = error(503, line)
        response.headers["Retry-After"] = "5"
        return response

    app = web.Application()
    app.router.add_get(HEALTH, health)
    app.router.add_route("*", "/{path:.*}", refuse)
    return app
