"""Whom a message is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bots.bot import Bot
from contract.chat import Inbound
from gateway.access.accounts import AccountPeer, Accounts
from gateway.core.addressing import named, route, unaddressed
from gateway.core.ledger import Ledger
from gateway.core.pins import asks_to_pin, begins_with_pin
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import parse_command
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class MessageRouter:
    """mention_free: names of the bots that answer every message of their rooms."""

    ledger: Ledger
    transcript: Transcript
    accounts: Accounts
    mention_free: frozenset[str]

    async def of(self, inbound: Inbound, bot: Bot, here: Sequence[Persona]) -> list[Persona]:
        """Who must answer; a command that names nobody goes to the first persona here."""
        if await self._is_for_siblings(inbound, bot):
            return []
        if answered := await self._replied_to(inbound, here):
            return answered
        free = bot.name in self.mention_free
        addressed = route(inbound, here, require_mention=not free)
        if addressed or inbound.meta.passive or inbound.meta.sender_type == "bot":
            return addressed
        if parse_command(inbound.content, addressed=False) is None:
            return []
        if not inbound.room.is_shared or not self.accounts.has_siblings(bot):
            return list(here[:1])
        return [] if await self._names_siblings(inbound, bot) else self.accounts.first(bot)

    async def _replied_to(self, inbound: Inbound, here: Sequence[Persona]) -> list[Persona]:
        """Which of an account's personas said what a message replies to, where it names nobody."""
        in_room = inbound.room.is_shared
        if not (in_room and inbound.mentioned and inbound.reply_to and len(here) > 1):
            return []
        if inbound.meta.passive or named(inbound.content, here):
            return []
        room, post = inbound.room.id, inbound.reply_to
        answer = await self.ledger.answer_with(room, post) or post
        said = await self.transcript.find(room, answer)
        return [persona for persona in here if said and persona.name == said.persona]

    async def _is_for_siblings(self, inbound: Inbound, bot: Bot) -> bool:
        """Whether all whom a message mentions are reached through other accounts of ours.

        It may be an answer to what this one said, or stand in its thread, and yet not be for it.
        """
        if not self.accounts.has_siblings(bot):
            return False
        if inbound.reply_to is None and inbound.thread_id is None:
            return False
        mentioned = await self._mentioned(inbound, bot)
        return bool(mentioned) and all(peer and peer.bot is not bot for peer in mentioned)

    async def _names_siblings(self, inbound: Inbound, bot: Bot) -> bool:
        """Whether a command mentions another account of ours, which answers then.

        What an account is called on its platform isn't known here: whom a command begins with is
        taken for one.
        """
        if unaddressed(inbound.content) != inbound.content.strip():
            return True
        mentioned = await self._mentioned(inbound, bot)
        return any(peer is not None and peer.bot is not bot for peer in mentioned)

    async def _mentioned(self, inbound: Inbound, bot: Bot) -> list[AccountPeer | None]:
        peers = await self.accounts.peers(inbound.room, bot)
        return list(self.accounts.addressing(peers).mentions(inbound.content))


def targets_of(inbound: Inbound, addressed: Sequence[Persona]) -> list[str]:
    """Whose turns a message makes: of the personas that it addresses, and for what it pins.

    A pin is no persona's, so its name is "". What begins with a pin is one as a whole; on a later
    line it leaves the rest as it was.
    """
    names = [persona.name for persona in addressed]
    if asks_to_pin(inbound):
        return [""] if begins_with_pin(inbound.content) else ["", *names]
    command = parse_command(inbound.content, addressed=True)
    entry = command.entry if command is not None else None
    return names[:1] if entry is not None and entry.once else names
