"""The webhook: a path with a secret in it, and its entry in the server's list.

The server signs nothing and tries once: the secret is the only proof, and what was missed is read
from the history.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from aiohttp import web

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused
from bots.bluebubbles.wire import WireWebhook
from bots.kit.platform_bot import BotSetup
from bots.kit.webhook import SecretPath
from bots.kit.wire import readable

log = structlog.stdlib.get_logger("moot.bots")


EVENTS = ("new-message", "updated-message", "group-name-change")

Take = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes one payload; returns when it is on disk. Raises ValueError when it can't be read."""


class Webhook(SecretPath):
    """take: told every payload that proves to be the server's. missed: called when one was lost."""

    platform = "BlueBubbles"

    def __init__(
        self, setup: BotSetup, secret: str | None, take: Take, missed: Callable[[], None]
    ) -> None:
        super().__init__(setup, secret)
        self._take, self._missed = take, missed
        self.registered: str | None = None  # the address that the server has from us

    async def handle(self, request: web.Request) -> web.Response:
        """Take a payload; what isn't taken is looked for in the history."""
        status = 0
        try:
            answered = await super().handle(request)
            status = answered.status
        finally:
            if status != 200:
                self._missed()
        return answered

    async def take(self, mime: str, body: bytes) -> None:
        try:
            payload = json.loads(body)
        except RecursionError:
            raise ValueError("no JSON: RecursionError") from None
        except ValueError as error:
            raise ValueError(f"no JSON: {type(error).__name__}") from None
        if not isinstance(payload, dict):
            raise ValueError("no JSON: it is no object")
        await self._take(payload)

    # ── The server's list ───────────────────────────────────────────────────────────────

    async def register(self, api: BlueBubblesApi, url: str, earlier: tuple[str, ...]) -> None:
        """Put our address on the list, and take earlier ones of ours off. Raises PlatformError.

        earlier: digests of addresses that we have registered before. A server that shows no list is
        told once.
        """
        found, hooks = False, await listed(api)
        for hook in hooks or ():
            if hook.url == url and not found and _tells_enough(hook):
                found = True
            elif hook.url == url or digest(hook.url) in earlier or self._is_stale(hook.url, url):
                await api.delete(f"webhook/{hook.id}")
        is_told = found or (hooks is None and self.registered == url)
        if not is_told:
            self.registered = None
            await api.send("webhook", {"url": url, "events": list(EVENTS)})
            log.info("webhook.registered", bot=self._bot)
        self.registered = url

    def _is_stale(self, other: str, url: str) -> bool:
        """True if an address is ours with another secret."""
        folder = url[: len(url) - len(self._secret)]
        return other.startswith(folder) and "/" not in other[len(folder) :]


def digest(url: str) -> str:
    """An address without its secret: it can be compared, and nothing else."""
    return hashlib.sha256(url.encode()).hexdigest()


async def listed(api: BlueBubblesApi) -> list[WireWebhook] | None:
    """The server's webhooks; None where it has no such list. Raises PlatformError."""
    try:
        found = await api.get("webhook")
    except BlueBubblesRefused as error:
        if error.status not in (404, 405):
            raise
        return None
    return readable(WireWebhook, found)


def _tells_enough(hook: WireWebhook) -> bool:
    return "*" in hook.event_names or hook.event_names >= set(EVENTS)
