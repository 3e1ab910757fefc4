"""Where a turn's posts go, and in whose voice."""

from __future__ import annotations

from bots.bot import Bot
from contract.chat import Destination, PersonaIdentity
from gateway.core.ledger import Turn
from gateway.settings.personas.personas import Persona


def destination_of(turn: Turn, bot: Bot, persona: Persona | None) -> Destination:
    """The place of everything that is posted in a turn.

    An account that serves several personas speaks as the one whose turn it is; a command's reply is
    Moot's own, and has no voice.
    """
    speaks = turn.persona and (turn.kind == "ask" or turn.fault is not None)
    if not speaks or len(bot.personas) < 2:
        return Destination(turn.room, turn.thread_id, only_for=turn.record.get("only_for"))
    voice = PersonaIdentity(turn.persona, persona.front.avatar if persona else None)
    return Destination(turn.room, turn.thread_id, voice)
