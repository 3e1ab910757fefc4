"""What the page's administrator side asks of the gateway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from contract.chat import Speaker
from gateway.web.admin.values import (
    Acted,
    BotView,
    Day,
    RoomLine,
    SessionAct,
    SessionLine,
    Summary,
    TurnPage,
    WantedTurns,
)


class Admin(Protocol):
    """Looks over the whole house. Whoever reaches the page is an owner."""

    async def summary(self) -> Summary:
        """True if all is well, and what waits for somebody."""

    def bots(self) -> Sequence[BotView]:
        """Every bot, in the order of the configuration."""

    async def rooms(self) -> Sequence[RoomLine]:
        """Every room, the one with the newest message first."""

    async def sessions(self) -> Sequence[SessionLine]:
        """Living sessions, the one used last first."""

    async def act(self, session_id: str, act: SessionAct, by: Speaker) -> Acted:
        """Stop what a session does, let its next turn begin a new one, or put it to sleep."""

    async def turns(self, wanted: WantedTurns, *, before: int, limit: int) -> TurnPage:
        """Turns with a seq below `before`, newest first."""

    async def days(self, count: int) -> Sequence[Day]:
        """The last so many days, oldest first; the last is today."""
