"""Keeping up with a BlueBubbles server: its webhook looked after, its history read now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused, WrongPassword
from bots.bluebubbles.backfill import GAP_OVERLAP_MS, OVERLAP_MS, Backfill
from bots.bluebubbles.connection import Webhook, address, is_out_of_reach
from contract.errors import PlatformError

log = structlog.stdlib.get_logger("moot.bots")

# How often the history is read: the Mac's dates are indexed, and its server itself looks every
# second. While people talk a lost message is missed soon.
POLL_S, _LIVELY_POLL_S, _LIVELY_S = 15.0, 4.0, 600.0
_ALONE_S = 3.0  # without a webhook of ours at the server the history is all that there is
_AGAIN_S = 2.0  # after a failed try, and more after each further one
_SOON_S = 1.0  # what could not be taken a moment ago is read again
_LOOK_AFTER_WEBHOOK_S = 600.0  # somebody may have taken it off the server's list
_LONGEST_CATCH_UP_S = 30.0


class CatchUp:
    """base: our own address as the server reaches it, if it is told; else it is made from `listen`,
    a host and a port (0: nobody knows it). now: the time in seconds since 1970.
    """

    def __init__(
        self,
        bot: str,
        api: BlueBubblesApi,
        history: Backfill,
        webhook: Webhook,
        *,
        base: str | None,
        listen: tuple[str, int],
        poll_s: float,
        now: Callable[[], float],
    ) -> None:
        self._bot, self._api, self._history, self._webhook = bot, api, history, webhook
        self._base, self._listen = base, listen
        self._poll_s, self._now = poll_s, now
        self._caught_up = asyncio.Event()  # or tried to
        self._wake = asyncio.Event()
        self._heard_at = float("-inf")
        self._told: set[str] = set()
        self._failures: set[str] = set()  # of the present outage

    async def follow(self) -> None:
        """Read what was missed, for ever; after a failed try soon, and farther back."""
        self._caught_up.clear()
        looked_at, failed, is_gap = float("-inf"), 0, True
        while True:
            self._wake.clear()
            if is_gap or self._now() - looked_at > _LOOK_AFTER_WEBHOOK_S:
                is_looked_after = await self._tried(self._look_after_webhook())
                looked_at = self._now() if is_looked_after else float("-inf")
            overlap_ms = GAP_OVERLAP_MS if is_gap else OVERLAP_MS
            is_gap = not await self._tried(self._history.catch_up(overlap_ms))
            failed = failed + 1 if is_gap else 0
            if not is_gap:
                self._failures.clear()
            self._caught_up.set()
            await self._rest(failed)

    async def _tried(self, step: Awaitable[None]) -> bool:
        """Whether it succeeded; a failure is told once an outage. Raises WrongPassword."""
        try:
            await step
        except WrongPassword:
            raise
        except PlatformError as error:
            self._tell_once(str(error), self._failures)
            return False
        return True

    def end(self) -> None:
        """Nobody needs to wait for what was missed any more."""
        self._caught_up.set()

    def missed(self) -> None:
        """An event was lost: it is in the history."""
        self._wake.set()

    def heard(self) -> None:
        """Somebody said something; after a silence the long rest ends with it."""
        if not self._is_lively():
            self._wake.set()
        self._heard_at = self._now()

    def _is_lively(self) -> bool:
        return self._now() - self._heard_at < _LIVELY_S

    async def in_turn(self) -> None:
        """Wait until what was missed before the start is taken: it is older than what comes now."""
        try:
            async with asyncio.timeout(_LONGEST_CATCH_UP_S):
                await self._caught_up.wait()
        except TimeoutError:
            pass

    async def _rest(self, failed: int) -> None:
        """Until the next look at the history; after a failed one, or a lost event, that is soon."""
        rests_s = [self._poll_s]
        if self._webhook.registered is None:
            rests_s.append(_ALONE_S)
        if self._is_lively():
            rests_s.append(_LIVELY_POLL_S)
        if failed:
            rests_s.append(failed * _AGAIN_S)
        try:
            async with asyncio.timeout(min(rests_s)):
                await self._wake.wait()
                await asyncio.sleep(_SOON_S)
        except TimeoutError:
            pass

    # ── The webhook ─────────────────────────────────────────────────────────────────────

    async def own_address(self) -> str | None:
        """Our address as the server reaches it; None when nobody can know."""
        if self._base is not None:
            return self._base
        return await asyncio.to_thread(address, *self._listen, self._api.base)

    async def _look_after_webhook(self) -> None:
        """See that the server calls us, and tell once why it can't. Raises PlatformError."""
        base = await self.own_address()
        if base is None:
            self._tell_once(
                "no port is set in `listen`, so the server can't call: its history is read every "
                f"{_ALONE_S:g} s; set a port, or webhook_url",
                self._told,
            )
            return
        if is_out_of_reach(base, self._api.base):
            self._tell_once(
                f"the server is on another machine and can't reach {base}: set webhook_url, and "
                "`listen` on an address that it reaches",
                self._told,
            )
        url = self._webhook.url(base)
        earlier = await self._history.remember_webhook(url)
        try:
            await self._webhook.register(self._api, url, earlier)
        except BlueBubblesRefused as error:
            if isinstance(error, WrongPassword):
                raise
            self._tell_once(
                f"the server takes no webhook ({error}): its history is read every {_ALONE_S:g} s; "
                f"to be called sooner, add {self._webhook.shown(base)} in the server's settings "
                "(the secret: BLUEBUBBLES_SECRET, or the file webhook_secret of the bot)",
                self._told,
            )

    def _tell_once(self, what: str, told: set[str]) -> None:
        if what not in told:
            told.add(what)
            log.warning("watch.failed", bot=self._bot, reason=what)
