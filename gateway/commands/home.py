"""A person's own tab on a platform: what the commands tell them in their direct message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import structlog

from bots.bot import Bot
from contract.chat import HomeOpened
from contract.errors import PlatformError
from contract.language import say
from contract.values import dataclass
from gateway.core.ledger import Turn
from gateway.core.reading import ParsedCommand
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.commands import CommandReply, Commands
from memory.scopes import home_scope
from store.rows import StoredMessage
from store.timestamps import micros

log = structlog.stdlib.get_logger("moot.rooms")

MOST = 5  # personas whose memory is told


@dataclass(frozen=True, slots=True)
class HomeTab:
    """Shows status, usage and memory by the commands themselves: their rules hold."""

    commands: Commands
    personas: Personas
    clock: Callable[[], datetime]

    async def take(self, event: HomeOpened, bot: Bot) -> None:
        """Somebody opened it."""
        try:
            await event.show(await self._parts(event, bot))
        except PlatformError as error:
            log.warning("home.not_shown", bot=bot.name, reason=str(error))

    async def _parts(self, event: HomeOpened, bot: Bot) -> dict[str, str]:
        here = self.personas.of(bot.personas)
        if not here:
            return {say("Status"): say("Nobody answers here.")}
        status = await self._told("status", event, bot, here[0])
        if status.refuses:
            return {say("Status"): status.text}
        usage = await self._told("usage", event, bot, here[0])
        parts = {say("Status"): status.text, say("Usage"): usage.text}
        for persona in here[:MOST]:
            known = await self._told("memory", event, bot, persona)
            parts[say("What @{persona} knows of you", persona=persona.name)] = known.text
        return {heading: text for heading, text in parts.items() if text.strip()}

    async def _told(self, name: str, event: HomeOpened, bot: Bot, persona: Persona) -> CommandReply:
        """The reply to a command, as if they had given it to the persona alone."""
        now, scope = self.clock(), home_scope(event.room, event.by.id, persona.name)
        turn = Turn(
            id="",
            seq=0,
            message_seq=0,
            asked_at=micros(now),
            persona=persona.name,
            scope=scope,
            room=event.room,
            thread_id=None,
            bot=bot.name,
            hop=0,
            state="queued",
            kind="command",
        )
        asked = StoredMessage(
            seq=0,
            room_id=event.room.id,
            message_id="",
            scope=scope,
            thread_id=None,
            reply_to=None,
            by=event.by,
            persona=None,
            turn_id=None,
            hop=0,
            content=f"!{name}",
            original=None,
            sent_at=now,
            edited_at=None,
            deleted=False,
            attachments=(),
            meta={},
        )
        return await self.commands.run(ParsedCommand(name), turn, asked, [persona])
