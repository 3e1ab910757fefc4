"""Checks that somebody may use a command here, and makes the one line for whoever may not."""

from __future__ import annotations

from contract.language import say
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.acts import act_of, least_role
from gateway.access.role_words import many_with
from gateway.audit.audit import Audit
from gateway.core.ledger import Turn
from gateway.core.quoting import quoted
from store.rows import StoredMessage

NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Permits:
    """Asks the roles, and notes who was refused."""

    access: Access
    audit: Audit

    def given(self, act: str, turn: Turn, asked: StoredMessage, persona: str | None = None) -> bool:
        """True if an act is allowed. persona: with another one than the turn's."""
        whose = persona or turn.persona or None
        return self.access.may(act, turn.room, asked.by, whose)

    async def refusal(
        self, name: str, argument: str, turn: Turn, asked: StoredMessage
    ) -> str | None:
        """The reply that refuses; None: go on. It is one line that names who may; "" for a bot."""
        act = act_of(name, argument)
        if self.given(act, turn, asked):
            return None
        await self.refused(act, turn, asked)
        if asked.by.kind == "bot":
            return ""
        return _line(act, asked, owns_room=self.access.is_owner(turn.room, asked.by.id))

    async def refused(self, act: str, turn: Turn, asked: StoredMessage) -> None:
        """Note that somebody was refused an act."""
        persona = turn.persona or None
        await self.audit.note("refuse", asked.by, persona=persona, room=turn.room, command=act)


def _line(act: str, asked: StoredMessage, *, owns_room: bool) -> str:
    least, who = least_role(act), quoted(asked.by.name, NAME_CHARS)
    if least == "owner":
        which = say("owners of the whole house") if owns_room else many_with("owner")
        return say("{who}, `!{act}` is for {which}.", who=who, act=act, which=which)
    return say(
        "{who}, `!{act}` is for {whom}; an owner can say `!role {id} {least}`.",
        who=who,
        act=act,
        whom=many_with(least),
        id=asked.by.id,
        least=least,
    )
