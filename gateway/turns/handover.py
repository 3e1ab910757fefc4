"""Handing over: the personas that an answer addresses have a turn each, if whoever began may ask
them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import uuid4

from bots.bot import Bot
from contract.chat import Speaker
from gateway.access.access import Access
from gateway.access.accounts import Accounts
from gateway.access.roster import Rosters
from gateway.access.unknown_users import UnknownUsers
from gateway.core.ledger import Ledger, Turn, TurnRequest
from gateway.limits.accounting import Accounting


@dataclass(frozen=True, slots=True)
class HandOver:
    """max_hops: how many bots in a row may do so. suggest: a line that Moot says after an answer,
    or None."""

    accounts: Accounts
    rosters: Rosters
    max_hops: int
    access: Access
    unknown_users: UnknownUsers
    ledger: Ledger
    accounting: Accounting
    suggest: Callable[[Turn], Awaitable[str | None]]

    async def requests(self, turn: Turn, bot: Bot) -> list[TurnRequest]:
        """Find what follows from an answer: turns of the peers that it addresses, and at most
        one line of Moot's own."""
        found = await self.accounting.hand_over(turn, await self.peers(turn, bot))
        if all(one.persona for one in found) and (line := await self.suggest(turn)) is not None:
            found.append(
                TurnRequest(uuid4().hex, "", turn.bot, turn.thread_id, turn.hop, "notice", line)
            )
        return found

    async def peers(self, turn: Turn, bot: Bot) -> list[TurnRequest]:
        """The peers that an answer addresses, within the hop limit. Each answers through an account
        that is in the room, its own or this one."""
        if turn.fault or not turn.room.is_shared:
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
        addressed.pop(turn.persona, None)
        asker = await self.ledger.beginner(turn) if addressed else None
        if asker is None:
            return []
        wanted = [await self._wanted(turn, asker, *one) for one in addressed.items()]
        return [one for one in wanted if one is not None]

    async def _wanted(
        self, turn: Turn, asker: Speaker, name: str, through: str
    ) -> TurnRequest | None:
        """The turn of a peer, or the line for somebody who may not ask it."""
        request = TurnRequest(uuid4().hex, name, through, turn.thread_id, turn.hop + 1)
        if self.access.may_invoke(turn.room, asker.id, name, is_bot=asker.kind == "bot"):
            return request
        line = await self.unknown_users.handed_over(turn.room, asker, name)
        return replace(request, kind="notice", answer=line) if line else None
