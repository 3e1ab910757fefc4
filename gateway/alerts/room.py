"""Posts a line in a room: a notice of Moot's own, stored and sent once like any answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import uuid4

import structlog

from bots.bot import Bot
from contract.chat import MOOT, SCHEDULED, Inbound, IngestMetadata, Room
from contract.values import dataclass
from gateway.core.ledger import Turn, TurnRequest
from gateway.core.sql_ledger import SqlLedger
from memory.scopes import home_scope
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.alerts")


@dataclass(frozen=True, slots=True)
class AlertRoom:
    """room_id: e.g. slack:C06RY3YBSLE. start: begins a turn that is stored."""

    room_id: str
    bots: Mapping[str, Bot]
    transcript: Transcript
    ledger: SqlLedger
    start: Callable[[Turn, str | None], None]
    clock: Callable[[], datetime]

    async def __call__(self, line: str) -> None:
        """Post it by the first bot of the room's platform."""
        source, _, name = self.room_id.partition(":")
        bot = next((bot for bot in self.bots.values() if bot.platform == source), None)
        if bot is None:
            log.error("alert.not_sent", reason=f"no bot is in {self.room_id}")
            return
        room = await self.transcript.room(self.room_id) or Room(self.room_id, name)
        meta = IngestMetadata(
            source=MOOT.id.partition(":")[0],
            sender_id=MOOT.id,
            sender_display_name=MOOT.name,
            sender_type="bot",
            passive=True,
            include_in_memory=False,
        )
        key = uuid4().hex
        inbound = Inbound(
            content="(an alert)",
            meta=meta,
            room=room,
            message_id=f"{SCHEDULED}alert:{key}",
            sent_at=self.clock(),
        )
        wanted = TurnRequest(key, "", bot.name, None, 0, "notice", line)
        accepted = await self.ledger.accept(
            inbound, home_scope(room, MOOT.id, None), [wanted], 0, self.clock()
        )
        for turn in accepted.turns:
            self.start(turn, None)
