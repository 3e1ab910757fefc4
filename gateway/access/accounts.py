"""Moot's own accounts: who they are on their platforms, and whom one reaches through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bots.bot import Bot
from contract.chat import Inbound, Room, Speaker
from gateway.access.presence import Presence
from gateway.core.addressing import Addressing
from gateway.settings.person_ids import unaliased
from gateway.settings.personas.personas import Persona, Personas


@dataclass(frozen=True, slots=True)
class AccountPeer:
    """A persona that is in a room, and the bot through which it speaks there."""

    persona: Persona
    bot: Bot


class Accounts:
    """The accounts of all bots. Two of them on one platform, in one room, hear the same messages
    and each other."""

    def __init__(self, bots: Mapping[str, Bot], personas: Personas, presence: Presence) -> None:
        self._bots = bots
        self._personas = personas
        self._presence = presence

    async def heard(self, room: Room, bot: Bot) -> None:
        """A bot has heard something in a room: it is there."""
        await self._presence.heard(room, bot.name)

    def is_own_message(self, inbound: Inbound) -> bool:
        """One of our accounts said it. Its owner may write through it by hand, too."""
        return not inbound.meta.is_from_me and self.is_own(inbound.meta.sender_id)

    def is_own(self, sender_id: str) -> bool:
        """True if that is one of our accounts."""
        return self._owner(sender_id) is not None

    def _owner(self, sender_id: str) -> Bot | None:
        wanted = unaliased(sender_id)
        for bot in self._bots.values():
            if any(unaliased(own) == wanted for own in bot.own_ids):
                return bot
        return None

    def has_siblings(self, bot: Bot) -> bool:
        """True if another account on the bot's platform is ours, too."""
        return any(self._siblings(bot))

    def _siblings(self, bot: Bot) -> list[Bot]:
        return [b for b in self._bots.values() if b.platform == bot.platform and b is not bot]

    async def others(self, room: Room, bot: Bot) -> list[Bot]:
        """The other accounts of ours that are in the room."""
        siblings = self._siblings(bot)
        if not siblings or not room.is_shared:
            return []
        present = await self._presence.bots(room.id)
        return [sibling for sibling in siblings if sibling.name in present]

    async def peers(self, room: Room, bot: Bot) -> list[AccountPeer]:
        """The personas in the room, those of the bot's own account first, each once."""
        found: dict[str, AccountPeer] = {}
        for each in (bot, *await self.others(room, bot)):
            for persona in self._personas.of(each.personas):
                found.setdefault(persona.name, AccountPeer(persona, each))
        return list(found.values())

    def first(self, bot: Bot) -> list[Persona]:
        """Who takes what nobody was named for: the same one, whichever account heard it."""
        same = (b for b in self._bots.values() if b.platform == bot.platform)
        return self._personas.of(name for each in same for name in each.personas)[:1]

    def addressing(
        self, peers: Sequence[AccountPeer], roster: Sequence[Speaker] = ()
    ) -> Addressing[AccountPeer]:
        """The words that mean each peer in a text: its names, and its account's on the platform."""
        names: dict[str, AccountPeer] = {}
        for peer in peers:
            for name in peer.persona.names:
                names.setdefault(name, peer)
        accounts: dict[str, AccountPeer] = {}
        for peer in peers:
            for own in peer.bot.own_ids:
                accounts.setdefault(own.partition(":")[2].lower(), peer)
            for speaker in roster:
                if speaker.id in peer.bot.own_ids:
                    names.setdefault(speaker.name.lower(), peer)
                    names.setdefault((speaker.mention or "").lstrip("@").lower(), peer)
        return Addressing(names, accounts)

    def introduced(self, roster: Sequence[Speaker]) -> list[Speaker]:
        """A roster with our own accounts under the names of their personas."""
        shown: dict[str, Speaker] = {}
        for speaker in roster:
            owner = self._owner(speaker.id)
            speaks = [speaker]
            if owner is not None:
                speaks = [Speaker(f"bot:{name}", name, "bot") for name in owner.personas]
            for each in speaks:
                shown.setdefault(each.id, each)
        return list(shown.values())
