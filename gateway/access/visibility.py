"""Who asks what, and what of the memory the answer may be made from: one decision for a turn's
prompt and for what its agent reads by MCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bots.bot import Bot
from contract.chat import Room, Speaker
from gateway.access.roster import Rosters
from gateway.core.ledger import Turn
from memory.members import Members
from memory.scopes import Invocation
from store.transcript import StoredMessage, Transcript


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a persona. roster: who is in the room, as far as its platform has said."""

    message: StoredMessage
    invocation: Invocation
    roster: Sequence[Speaker] = ()


class Visibility:
    """Decides what may be seen, by who takes part in a room."""

    def __init__(
        self, transcript: Transcript, members: Members, rosters: Rosters, bots: Mapping[str, Bot]
    ) -> None:
        self._transcript = transcript
        self._members = members
        self._rosters = rosters
        self._bots = bots

    async def asked(self, turn: Turn, room: Room) -> Asked | None:
        """The question of a turn; None when its message was deleted. room: the turn's, with the
        project whose facts its persona may be told."""
        message = await self._transcript.get(turn.message_seq)
        if message is None or message.deleted:
            return None
        return await self.of(turn, room, message)

    async def of(self, turn: Turn, room: Room, message: StoredMessage) -> Asked:
        """The same for a message that may be stored nowhere."""
        roster = self._rosters.known(room, self._bots[turn.bot])
        members: tuple[str, ...] = ()  # who takes part in a room: its roster, else who has spoken
        if turn.room.kind == "room":
            members = tuple(person.id for person in roster if person.kind == "human")
            members = members if roster else await self._members.spoke(turn.scope)
        invocation = Invocation(room, message.by.id, turn.persona, members, turn.scope)
        return Asked(message, invocation, roster)
