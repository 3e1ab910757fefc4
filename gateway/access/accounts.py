"""Moot's own accounts: who they are on their platforms, and whom one reaches through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, select, update

from bots.bot import Bot
from contract.chat import Room, Speaker
from contract.values import dataclass
from gateway.core.addressing import Addressing
from gateway.settings.person_ids import unaliased
from gateway.settings.personas.personas import Persona, Personas
from store.database import Store
from store.schema import rooms
from store.transcript import Transcript

_HEARD_BY = select(rooms.c.heard_by).where(rooms.c.id == bindparam("of"))
_KEEP = update(rooms).where(rooms.c.id == bindparam("of")).values(heard_by=bindparam("names"))


class Presence:
    """Kept on disk: after a restart an answer may be handed over before anything is heard."""

    def __init__(self, store: Store, transcript: Transcript, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._transcript = transcript
        self._clock = clock
        self._known: dict[str, frozenset[str]] = {}

    async def bots(self, room_id: str) -> frozenset[str]:
        """The names of the bots that are in a room."""
        if (known := self._known.get(room_id)) is not None:
            return known

        def work(connection: Connection) -> list[str]:
            return connection.execute(_HEARD_BY, {"of": room_id}).scalar() or []

        return self._known.setdefault(room_id, frozenset(await self._store.read(work, small=True)))

    async def heard(self, room: Room, bot: str) -> None:
        """The bot has heard something in the room: it is there. On disk soon."""
        known = self._known.get(room.id) or await self.bots(room.id)
        if bot not in known:
            self._keep(room, known | {bot})

    async def left(self, room: Room, bot: str) -> None:
        """The platform lets the bot post there no more."""
        known = await self.bots(room.id)
        if bot in known:
            self._keep(room, known - {bot})

    def _keep(self, room: Room, names: frozenset[str]) -> None:
        self._known[room.id] = names

        def work(connection: Connection) -> None:
            self._transcript.keep_room(connection, room, self._clock())
            connection.execute(_KEEP, {"of": room.id, "names": sorted(names)})

        self._store.write_later(work)


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
        self.presence = presence

    def is_own(self, sender_id: str) -> bool:
        """True if that is one of our accounts."""
        wanted = unaliased(sender_id)
        return any(wanted in map(unaliased, bot.own_ids) for bot in self._bots.values())

    def has_siblings(self, bot: Bot) -> bool:
        """True if another account on the bot's platform is ours, too."""
        return bool(self._siblings(bot))

    def _siblings(self, bot: Bot) -> list[Bot]:
        return [b for b in self._bots.values() if b.platform == bot.platform and b is not bot]

    async def peers(self, room: Room, bot: Bot) -> list[AccountPeer]:
        """The personas in the room, those of the bot's own account first, each once."""
        others = self._siblings(bot) if room.is_shared else []
        if others:
            present = await self.presence.bots(room.id)
            others = [other for other in others if other.name in present]
        found: dict[str, AccountPeer] = {}
        for each in (bot, *others):
            for persona in self._personas.of(each.personas):
                found.setdefault(persona.name, AccountPeer(persona, each))
        return list(found.values())

    def first(self, bot: Bot) -> list[Persona]:
        """The account that takes what nobody was named for: the same one, whichever heard it."""
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
        ours = {unaliased(own): bot for bot in self._bots.values() for own in bot.own_ids}
        for speaker in roster:
            speaks = [speaker]
            if (owner := ours.get(unaliased(speaker.id))) is not None:
                speaks = [Speaker(f"bot:{name}", name, "bot") for name in owner.personas]
            for each in speaks:
                shown.setdefault(each.id, each)
        return list(shown.values())
