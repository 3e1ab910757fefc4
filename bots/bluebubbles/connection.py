"""The webhook: a path with a secret in it, and its entry in the server's list.

The server signs nothing and tries once: the secret is the only proof, and what was missed is read
from the history.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from aiohttp import web

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused
from bots.bluebubbles.wire import WireWebhook
from bots.kit.webhook import SecretPath, answer, body_of
from bots.kit.wire import readable
from contract.errors import MootError

log = structlog.stdlib.get_logger("moot.bots")


EVENTS = ("new-message", "updated-message", "group-name-change")

Take = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes one payload; returns when it is on disk. Raises ValueError when it can't be read."""


class Webhook(SecretPath):
    """take: told every payload that proves to be the server's. missed: called when one was lost."""

    def __init__(self, bot: str, take: Take, missed: Callable[[], None]) -> None:
        super().__init__("bluebubbles", bot)
        self._take, self._missed = take, missed
        self.registered: str | None = None  # the address that the server has from us

    async def handle(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        if body is None:
            log.warning("webhook.refused", bot=self._bot, reason="its body is too large")
            self._missed()
            return answer(413, "the body is too large")
        try:
            payload = json.loads(body)
            if not isinstance(payload, dict):
                raise ValueError("it is no object")
        except (ValueError, RecursionError) as error:
            log.warning("webhook.refused", bot=self._bot, reason=f"no JSON: {type(error).__name__}")
            return answer(400, "the body is no JSON object")
        return await self._taken(payload)

    async def _taken(self, payload: Mapping[str, Any]) -> web.Response:
        taken = False
        try:
            await self._take(payload)
            taken = True
        except ValueError as error:
            log.warning("webhook.failed", bot=self._bot, reason=error)
            return answer(400, "the body is no event of BlueBubbles")
        except MootError as error:
            log.warning("webhook.waiting", bot=self._bot, reason=error)
            return answer(503, "not now")
        finally:
            if not taken:
                self._missed()
        return answer(200, "")

    # ── The server's list ───────────────────────────────────────────────────────────────

    async def register(self, api: BlueBubblesApi, url: str, earlier: tuple[str, ...]) -> None:
        """Put our address on the list, and take earlier ones of ours off. Raises PlatformError.

        earlier: addresses that we have registered before. A server that shows no list is told once.
        """
        found, hooks = False, await listed(api)
        for hook in hooks or ():
            if hook.url == url and not found and _tells_enough(hook):
                found = True
            elif hook.url == url or hook.url in earlier or self._is_stale(hook.url, url):
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
