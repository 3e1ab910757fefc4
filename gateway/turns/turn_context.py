"""What an agent that is called by API is told of a turn beside the header."""

from __future__ import annotations

from adapters.agent import TurnContext
from composer.platform import is_small_talk, platform_context
from composer.zone import zone
from contract.briefing import Briefing
from store.transcript import StoredMessage


def turn_context_of(briefing: Briefing, asked: StoredMessage) -> TurnContext:
    """Where the question was asked, by whom and when, and whether it is one at all.

    The role is the roster's. The time is told in the room's zone: no platform says a person's.
    """
    known = {person.id: person.role for person in briefing.participants}
    context = platform_context(
        briefing.room.source,
        asked.sent_at,
        zone(briefing.timezone),
        user=asked.by.name,
        role=asked.by.role or known.get(asked.by.id) or "",
    )
    return TurnContext(context, is_small_talk(asked.content) and not asked.attachments)
