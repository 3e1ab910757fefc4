"""Handing over: the personas that an answer addresses have a turn each."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from bots.bot import Bot
from gateway.accounts import Accounts
from gateway.ledger import Turn, Wanted
from gateway.roster import Rosters


@dataclass(frozen=True, slots=True)
class HandOver:
    """max_hops: how many bots in a row may do so."""

    accounts: Accounts
    rosters: Rosters
    max_hops: int

    async def peers(self, turn: Turn, bot: Bot) -> list[Wanted]:
        """The peers that an answer addresses, within the hop limit. Each answers through an account
        that is in the room, its own or this one."""
        if turn.fault or turn.header is None or turn.room.kind not in ("room", "gdm"):
            return []
        if turn.hop + 1 > self.max_hops:
            return []
        peers = await self.accounts.peers(turn.room, bot)
        text = turn.answer or ""
        mentions = list(self.accounts.addressing(peers).mentions(text))
        if None in mentions and any(peer.bot is not bot for peer in peers):
            roster = await self.rosters.awaited(turn.room, bot)  # it tells what accounts are called
            mentions = list(self.accounts.addressing(peers, roster).mentions(text))
        addressed = {peer.persona.name: peer.bot.name for peer in mentions if peer is not None}
        return [
            Wanted(uuid4().hex, name, through, turn.thread_id, turn.hop + 1)
            for name, through in addressed.items()
            if name != turn.persona
        ]
