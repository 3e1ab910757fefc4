"""Decides whom a message is for, and in which scope it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bots.bot import Bot
from contract.chat import Inbound, stands
from contract.values import dataclass
from gateway.access.accounts import AccountPeer, Accounts
from gateway.core.addressing import named, said_to
from gateway.core.reading import Reading, parse_command
from gateway.core.sql_ledger import SqlLedger
from gateway.sessions.room_settings import RoomSettings
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.following import FollowUps
from memory.scopes import home_scope
from store.transcript import LATEST, Transcript


@dataclass(frozen=True, slots=True)
class Route:
    """A message on its way in: what it says, whose turns it asks for, and where it stands.

    inbound: asks for recall if it names a persona. trusted: it came by the API, with an owner's
    token. targets: names of personas; "": Moot pins what it says.
    hop: 0 from a person, n for the n-th bot in a row. thread_id: where it is answered.
    """

    inbound: Inbound
    bot: Bot
    reading: Reading
    trusted: bool
    targets: Sequence[str]
    scope: str
    hop: int
    thread_id: str | None


@dataclass(frozen=True, slots=True)
class MessageRouter:
    """max_hops: how many bots in a row are answered."""

    ledger: SqlLedger
    transcript: Transcript
    accounts: Accounts
    personas: Personas
    settings: RoomSettings
    follow_ups: FollowUps
    max_hops: int

    async def route(
        self, inbound: Inbound, bot: Bot, reading: Reading, *, trusted: bool = False
    ) -> Route:
        """The destination of a message. trusted: see Route."""
        self.personas.refresh()
        here = self.personas.of(bot.personas)
        known = here
        if not here and reading.command is not None:
            known = self.personas.gone(bot.personas)[:1]
        addressed = await self._addressed(inbound, bot, reading, known)
        if addressed and not trusted and not inbound.meta.trigger_rag:
            # It asks for recall as one that mentions an account does: a platform doesn't know the
            # names of personas beside their accounts'.
            meta = inbound.meta.model_copy(update={"trigger_rag": True})
            inbound = replace(inbound, meta=meta)
        meant = addressed or said_to(inbound, here) or here
        first = next((persona.name for persona in meant), None)
        scope = home_scope(inbound.room, inbound.meta.sender_id, first)
        hop = 0 if inbound.meta.sender_type == "human" else await self._hop(inbound, scope)
        targets = _targets(inbound, reading, addressed) if hop <= self.max_hops else []
        thread_id = inbound.thread_id
        if not thread_id and bot.capabilities.thread_replies and inbound.room.kind == "room":
            asked_here = stands(inbound.message_id)  # else a message's menu may have it as its own
            thread_id = inbound.message_id if asked_here else inbound.reply_to
        return Route(inbound, bot, reading, trusted, targets, scope, hop, thread_id)

    async def _addressed(
        self, inbound: Inbound, bot: Bot, reading: Reading, here: Sequence[Persona]
    ) -> list[Persona]:
        """The personas that must answer; a command that names nobody goes to the first one here."""
        if inbound.meta.passive:
            return []
        alone = inbound.reply_to is None and inbound.thread_id is None
        if not alone and await self._is_for_siblings(inbound, bot):
            return []
        if inbound.reply_to and (answered := await self._replied_to(inbound, here)):
            return answered
        needs_mention = bot.name not in self.settings.mention_free
        if inbound.room.id in self.settings.of_rooms:
            needs_mention = self.settings.needs_mention(inbound.room, bot.name)
        addressed = said_to(inbound, here, require_mention=needs_mention)
        if addressed or inbound.meta.sender_type == "bot":
            return addressed
        return await self._unnamed(inbound, bot, reading, here)

    async def _unnamed(
        self, inbound: Inbound, bot: Bot, reading: Reading, here: Sequence[Persona]
    ) -> list[Persona]:
        """The personas that must answer what a person said and addressed to nobody."""
        if reading.command is None or (
            parse_command(reading.content, addressed=False, bare=reading.bare) is None
        ):
            if inbound.reply_to is None and inbound.thread_id is None:
                return []
            if await self._names_siblings(inbound, bot, reading):
                return []
            return await self.follow_ups.of(inbound, bot, here)
        if not inbound.room.is_shared or not self.accounts.has_siblings(bot):
            return list(here[:1])
        if await self._names_siblings(inbound, bot, reading):
            return []
        return self.accounts.first(bot)

    async def _replied_to(self, inbound: Inbound, here: Sequence[Persona]) -> list[Persona]:
        """The persona of an account that said what a message replies to, where it names nobody."""
        if not (inbound.reply_to and inbound.room.is_shared and inbound.mentioned):
            return []
        if len(here) < 2 or named(inbound.content, here):
            return []
        asked = await self.follow_ups.threads.question_of(inbound.room.id, inbound.reply_to)
        return [persona for persona in here if asked and persona.name == asked.turns[0].persona]

    async def _is_for_siblings(self, inbound: Inbound, bot: Bot) -> bool:
        """All whom a message mentions are reached through other accounts of ours.

        It may be an answer to what this one said, or stand in its thread, and yet not be for it.
        """
        if not self.accounts.has_siblings(bot):
            return False
        mentioned = await self._mentioned(inbound, bot)
        return bool(mentioned) and all(peer and peer.bot is not bot for peer in mentioned)

    async def _names_siblings(self, inbound: Inbound, bot: Bot, reading: Reading) -> bool:
        """It mentions another account of ours, which answers then, or begins with a mention.

        The names of accounts on their platform aren't known here: whom a command begins with is
        taken for one.
        """
        if reading.unaddressed != inbound.content.strip():
            return True
        mentioned = await self._mentioned(inbound, bot)
        return any(peer is not None and peer.bot is not bot for peer in mentioned)

    async def _mentioned(self, inbound: Inbound, bot: Bot) -> list[AccountPeer | None]:
        peers = await self.accounts.peers(inbound.room, bot)
        return list(self.accounts.addressing(peers).mentions(inbound.content))

    async def _hop(self, inbound: Inbound, scope: str) -> int:
        """Count the bots that have spoken in a row; this one, which wrote the message, included.

        In a thread those who speak outside of it don't count.
        """
        if known := await self.transcript.find(inbound.room.id, inbound.message_id):
            return known.hop  # another account of ours heard it, too
        if inbound.thread_id is not None:
            before = await self.transcript.thread(inbound.room.id, scope, inbound.thread_id, LATEST)
        else:
            before = await self.transcript.window(scope, size=1, after=0, trigger=0)
        return before[-1].hop + 1 if before else 1


def _targets(inbound: Inbound, reading: Reading, addressed: Sequence[Persona]) -> list[str]:
    """The turns that a message makes: of the personas that it addresses, and for what it pins.

    A pin is no persona's, so its name is "". What begins with a pin is one as a whole; on a later
    line it leaves the rest as it was. Only people pin; a stored-only message does nothing.
    """
    names = [persona.name for persona in addressed]
    if reading.pins and inbound.meta.sender_type == "human" and not inbound.meta.passive:
        return [""] if reading.is_pin else ["", *names]
    entry = reading.command.entry if reading.command is not None else None
    return names[:1] if entry is not None and entry.once else names
