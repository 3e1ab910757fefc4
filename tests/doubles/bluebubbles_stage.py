"""A BlueBubbles bot at work in tests: the double's webhooks reach it over a server of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from bots.bluebubbles.backfill import OwnAddress
from bots.bluebubbles.bot import BlueBubblesBot
from tests.doubles.bluebubbles import PASSWORD, BlueBubblesDouble
from tests.doubles.bot_setup import bot_setup
from tests.doubles.inbox import PATIENCE_S, Inbox, running
from tests.doubles.ports import free_port


def make_bot(server: BlueBubblesDouble, folder: Path, **changes: Any) -> BlueBubblesBot:
    values: dict[str, Any] = {"url": server.url, "password": PASSWORD, "poll_s": 0.2}
    listen = changes.pop("listen_host", "127.0.0.1"), changes.pop("listen_port", 0)
    values["own"] = OwnAddress(changes.pop("webhook_url", None), listen)
    own = (*values, "secret")
    values |= {key: changes.pop(key) for key in own if key in changes}
    return BlueBubblesBot(bot_setup("bluebubbles", folder, **changes), **values)


@asynccontextmanager
async def at_work(
    server: BlueBubblesDouble, folder: Path, inbox: Inbox, *, port: int = 0, **changes: Any
) -> AsyncIterator[BlueBubblesBot]:
    """The bot with its webhook mounted and registered; both end when left."""
    port = port or free_port()
    bot = make_bot(server, folder, listen_port=port, **changes)
    app = web.Application()
    app.add_routes(bot.routes())
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        async with running(bot, inbox):
            async with asyncio.timeout(PATIENCE_S):
                while not any("after" in call.body for call in server.called("message/query")):
                    await asyncio.sleep(0.01)
            yield bot
    finally:
        await runner.cleanup()
