"""Reads from the server's history what the webhook missed: nothing is lost in a gap.

It also keeps up with the server: its webhook is looked after, its history read now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from pydantic import BaseModel, ConfigDict, field_validator

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused, WrongPassword
from bots.bluebubbles.connection import Webhook, digest
from bots.bluebubbles.events import (
    Deletion,
    Edit,
    NewMessage,
    messages,
    read_message,
)
from bots.bluebubbles.wire import Millis, WireMessage
from bots.kit.cursor import State, States
from bots.kit.webhook import address, is_out_of_reach
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")


# How often the history is read: the Mac's dates are indexed, and its server itself looks every
# second. While people talk a lost message is missed soon.
POLL_S, _LIVELY_POLL_S, _LIVELY_S = 15.0, 4.0, 600.0
_ALONE_S = 3.0  # without a webhook of ours at the server the history is all that there is
_AGAIN_S = 2.0  # after a failed try, and more after each further one
_SOON_S = 1.0  # what could not be taken a moment ago is read again
_LOOK_AFTER_WEBHOOK_S = 600.0  # somebody may have taken it off the server's list
_LONGEST_CATCH_UP_S = 30.0

_PAGE, _PAGES = 100, 1_000
_MOST_TOLD = 1_000
_WITH = ("chat", "attachment", "handle")
# A message has the time at which it was sent: one that reaches the Mac late is older than what was
# read already, and so is one that was edited, which Apple lets people do for 15 minutes. After a
# gap (a sleep of the Mac) more of them are late.
OVERLAP_MS, GAP_OVERLAP_MS = 960_000, 3_600_000

_CLOCKS_MS = 3_600_000  # the server's clock may be so far ahead of ours

Hand = Callable[[NewMessage | Edit | Deletion], Awaitable[None]]
"""Takes one thing that was said; returns when it is on disk. What it has seen, it leaves out."""


class HistoryPosition(BaseModel):
    """The point up to which the history was read.

    began_ms: the first start ever; nothing before it is read.
    webhooks: digests of addresses that were registered at the server; an address has its secret.
    """

    model_config = ConfigDict(frozen=True)

    began_ms: Millis
    read_ms: Millis
    webhooks: tuple[str, ...] = ()

    @field_validator("webhooks")
    @classmethod
    def _digests(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        """Earlier versions kept the addresses."""
        return tuple(digest(one) if "://" in one else one for one in given)


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """The address at which the server reaches us.

    base: as configured; else it is made from `listen`, a host and a port (0: no one knows it).
    """

    base: str | None = None
    listen: tuple[str, int] = ("127.0.0.1", 0)


class CatchUp:
    """Keeps up with the server: looks after its webhook, and reads its history now and then.

    poll_s: how often it is read while nobody talks. now: the time in seconds since 1970.
    """

    def __init__(
        self,
        bot: str,
        api: BlueBubblesApi,
        history: Backfill,
        webhook: Webhook,
        own: OwnAddress,
        *,
        poll_s: float,
        now: Callable[[], float],
    ) -> None:
        self._bot, self._api, self._history, self._webhook = bot, api, history, webhook
        self._own, self._poll_s, self._now = own, poll_s, now
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
        """True if it succeeded; a failure is told once an outage. Raises WrongPassword."""
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
        if self._own.base is not None:
            return self._own.base
        return await asyncio.to_thread(address, *self._own.listen, self._api.base)

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
                "(the secret: BLUEBUBBLES_SECRET, or what is kept as webhook_secret of the bot)",
                self._told,
            )

    def _tell_once(self, what: str, told: set[str]) -> None:
        if what not in told:
            told.add(what)
            log.warning("watch.failed", bot=self._bot, reason=what)


class Backfill:
    """now: the time in seconds since 1970."""

    def __init__(
        self,
        api: BlueBubblesApi,
        states: States,
        hand_on: Hand,
        *,
        now: Callable[[], float],
    ) -> None:
        self._api, self._hand_on, self._now = api, hand_on, now
        self._state = State(states, "history", HistoryPosition)
        self._place: HistoryPosition | None = None
        self._told: set[str] = set()

    async def begin(self) -> HistoryPosition:
        """The place in the history; behind its newest message at the first start ever.

        Raises MootError.
        """
        if self._place is None:
            self._place = await self._state.demand()
        if self._place is None:
            # By the server's clock where it has a message to tell it by, and it isn't quite wrong.
            newest, now = await self._newest_ms(), self._now_ms()
            began = newest + 1 if newest < now + _CLOCKS_MS else now
            await self._keep(HistoryPosition(began_ms=began, read_ms=began))
        assert self._place is not None
        return self._place

    async def _newest_ms(self) -> int:
        """The date of the newest message; -1 where there is none."""
        body = {"sort": "DESC", "limit": 1, "offset": 0, "with": list(_WITH)}
        try:
            return max((row.created or 0 for row in await self._rows(body)), default=-1)
        except WrongPassword:
            raise
        except BlueBubblesRefused:  # a server without a history: what it calls us with is all
            return self._now_ms()

    async def remember_webhook(self, url: str) -> tuple[str, ...]:
        """Note an address that is about to be registered; returns the digests of earlier ones."""
        place, own = await self.begin(), digest(url)
        if own not in place.webhooks:
            await self._keep(place.model_copy(update={"webhooks": (*place.webhooks[-20:], own)}))
        return tuple(known for known in place.webhooks if known != own)

    async def catch_up(self, overlap_ms: int = OVERLAP_MS) -> None:
        """Hand on everything since the place, oldest first; then the place is behind it.

        Raises PlatformError, and what `hand_on` raises: the place stays before what wasn't taken.
        """
        place = await self.begin()
        after = max(place.began_ms, place.read_ms - overlap_ms)
        before = set[str]()
        for page in range(_PAGES):
            body = {
                "after": after,
                "sort": "ASC",
                "limit": _PAGE,
                "offset": page * _PAGE,
                "with": list(_WITH),
            }
            rows = await self._rows(body)
            for row in sorted(rows, key=_created):
                if row.created is None or row.created >= after:
                    await self._take(row)
            await self._advance(max((row.created or 0 for row in rows), default=0))
            guids = {row.guid for row in rows}
            if len(rows) < _PAGE or guids <= before:  # the same page again: it ignores the offset
                return
            before = guids

    async def _take(self, row: WireMessage) -> None:
        try:
            found = messages(row)
        except ValueError as error:
            self._skip(str(error))
            return
        for one in found:
            await self._hand_on(one)

    async def _advance(self, newest_ms: int) -> None:
        """A message from the future, by a wrong clock, doesn't carry the place there."""
        place, newest_ms = await self.begin(), min(newest_ms, self._now_ms())
        if newest_ms > place.read_ms:
            await self._keep(place.model_copy(update={"read_ms": newest_ms}))

    async def _rows(self, body: dict[str, object]) -> list[WireMessage]:
        """A page; one that can't be read keeps its seat, for the count."""
        found = await self._api.query("message/query", body)
        rows = []
        for seat, entry in enumerate(found if isinstance(found, list) else ()):
            try:
                rows.append(read_message(entry if isinstance(entry, dict) else {}))
            except ValueError as error:
                self._skip(str(error))
                rows.append(WireMessage(guid=f"?{body['offset']}.{seat}", error=1))
        return rows

    def _skip(self, reason: str) -> None:
        """Log once what is read again and again."""
        if reason not in self._told:
            self._told = {reason} if len(self._told) > _MOST_TOLD else self._told | {reason}
            log.warning("message.skipped", reason=f"it is left out: {reason}")

    async def _keep(self, place: HistoryPosition) -> None:
        await self._state.save(place)
        self._place = place

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


def _created(message: WireMessage) -> int:
    return message.created or 0
