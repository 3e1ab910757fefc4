"""Pins by a platform's own means, or by a 📌 on a message: the same as `!pin` in reply to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import structlog

from bots.bot import Bot
from bots.kit.recent import Recent
from contract.chat import Pinned
from gateway.access.access import Access
from gateway.access.accounts import Accounts
from gateway.core.sql_ledger import SqlLedger
from gateway.settings.personas.personas import Personas
from memory.landmarks import Landmarks, NewLandmark
from memory.readable import ReadableMessages
from memory.scopes import home_scope
from store.rows import StoredMessage

log = structlog.stdlib.get_logger("moot.pins")

_REMEMBERED = 1_000


class PlatformPins:
    """Takes them; says nothing in the room, where everybody sees the pin.

    Who has pinned a message is remembered while the process lives: with the 📌 of the last of them
    goes the landmark. Somebody who never pinned it takes away the platform's own pin, and it goes,
    too.
    """

    def __init__(
        self,
        *,
        landmarks: Landmarks,
        slices: ReadableMessages,
        ledger: SqlLedger,
        personas: Personas,
        accounts: Accounts,
        access: Access,
        changed: Callable[[str], None],
        clock: Callable[[], datetime],
    ) -> None:
        """changed: told the room whose landmarks did."""
        self._landmarks = landmarks
        self._slices = slices
        self._ledger = ledger
        self._personas = personas
        self._accounts = accounts
        self._access = access
        self._changed = changed
        self._clock = clock
        self._pinned_by: Recent[int, dict[str, bool]] = Recent(_REMEMBERED)

    async def take(self, event: Pinned, _: Bot) -> None:
        """Pin the message, or take its landmark away; twice is once."""
        said = await self._meant(event)
        if said is None:
            log.info("pin.ignored", room=event.room.id, message=event.message_id)
        elif event.pinned:
            await self._pin(event, said)
        else:
            await self._unpin(event, said)

    async def _meant(self, event: Pinned) -> StoredMessage | None:
        """The message; None when it isn't known, or isn't theirs to pin."""
        by = event.by
        if by.kind != "human" or self._accounts.is_own(by.id):
            return None
        if not self._access.may("pin", event.room, by):
            return None
        said = await self._ledger.said(event.room.id, event.message_id)
        if said is None or said.deleted:
            return None
        scopes = {home_scope(event.room, by.id, name) for name in (*self._personas.good, None)}
        return said if said.scope in scopes else None

    async def _pin(self, event: Pinned, said: StoredMessage) -> None:
        part = await self._slices.after(said.scope, said.seq - 1, until=said.seq)
        text = part.spoken[0].text if part and part.spoken else None
        if text is None:  # it is kept out of memory
            log.info("pin.kept_out", room=event.room.id, message=event.message_id)
            return
        landmark = NewLandmark(
            scope=said.scope,
            kind="pin",
            text=text,
            by_id=event.by.id,
            by_name=event.by.name,
            message_seq=said.seq,
            at=self._clock(),
            author_id=said.by.id,
        )
        before = await self._landmarks.pin_message(landmark)
        known = self._by(said.seq)
        if before is None:
            self._changed(event.room.id)
        else:
            known.setdefault(before, True)
        known[event.by.id] = True

    async def _unpin(self, event: Pinned, said: StoredMessage) -> None:
        known = self._by(said.seq)
        is_again = known.get(event.by.id) is False
        was_theirs = known.get(event.by.id) is True
        known[event.by.id] = False
        if is_again or (was_theirs and any(known.values())):
            return
        self._pinned_by[said.seq] = dict.fromkeys(known, False)
        if await self._landmarks.unpin_message(said.scope, said.seq):
            self._changed(event.room.id)

    def _by(self, seq: int) -> dict[str, bool]:
        """The people who have pinned a message (True), and who have taken it back."""
        known = self._pinned_by[seq] = self._pinned_by.get(seq, {})
        return known
