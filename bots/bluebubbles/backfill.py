"""What the webhook missed, read from the server's history: nothing is lost in a gap."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused, WrongPassword
from bots.bluebubbles.events import (
    DeletedMessage,
    EditedMessage,
    NewMessage,
    messages,
    read_message,
)
from bots.bluebubbles.state import BlueBubblesState, HistoryPosition
from bots.bluebubbles.wire import WireMessage

log = structlog.stdlib.get_logger("moot.bots")

_PAGE, _PAGES = 100, 1_000
_MOST_TOLD = 1_000
_WITH = ("chat", "attachment", "handle")
# A message has the time at which it was sent: one that reaches the Mac late is older than what was
# read already, and so is one that was edited, which Apple lets people do for 15 minutes. After a
# gap (a sleep of the Mac) more of them are late.
OVERLAP_MS, GAP_OVERLAP_MS = 960_000, 3_600_000

_CLOCKS_MS = 3_600_000  # the server's clock may be so far ahead of ours

Hand = Callable[[NewMessage | EditedMessage | DeletedMessage], Awaitable[None]]
"""Takes one thing that was said; returns when it is on disk. What it has seen, it leaves out."""


class Backfill:
    """now: the time in seconds since 1970."""

    def __init__(
        self,
        api: BlueBubblesApi,
        store: BlueBubblesState,
        hand_on: Hand,
        *,
        now: Callable[[], float],
    ) -> None:
        self._api, self._store, self._hand_on, self._now = api, store, hand_on, now
        self._place: HistoryPosition | None = None
        self._told: set[str] = set()

    async def begin(self) -> HistoryPosition:
        """The place in the history; behind its newest message at the first start ever.

        Raises PlatformError, ConfigError.
        """
        if self._place is None:
            self._place = await self._store.place()
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
        """Note an address that is about to be registered; returns the earlier ones."""
        place = await self.begin()
        if url not in place.webhooks:
            await self._keep(place.model_copy(update={"webhooks": (*place.webhooks[-20:], url)}))
        return tuple(known for known in place.webhooks if known != url)

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
            if len(rows) < _PAGE or guids <= before:  # the same page again: it knows no offset
                return
            before = guids

    async def _take(self, row: WireMessage) -> None:
        try:
            found = messages(row)
        except ValueError as error:
            self._tell(str(error))
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
                self._tell(str(error))
                rows.append(WireMessage(guid=f"?{body['offset']}.{seat}", error=1))
        return rows

    def _tell(self, reason: str) -> None:
        """Log once what is read again and again."""
        if reason not in self._told:
            self._told = {reason} if len(self._told) > _MOST_TOLD else self._told | {reason}
            log.warning("message.skipped", reason=f"it is left out: {reason}")

    async def _keep(self, place: HistoryPosition) -> None:
        await self._store.keep_place(place)
        self._place = place

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


def _created(message: WireMessage) -> int:
    return message.created or 0
