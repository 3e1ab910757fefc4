"""The context of a turn that an agent called by API is told beside the header."""

from __future__ import annotations

from adapters.agent import TurnContext
from adapters.images import MOST_PICTURES, is_picture
from composer.platform import is_small_talk, platform_context
from composer.scene import zone
from contract.briefing import Briefing


def turn_context_of(briefing: Briefing, given: int = 0) -> TurnContext:
    """The place, the person and the time of a question, whether it is one at all, and its pictures.

    given: the newest message that its agent knows, with the pictures. The role is the roster's. The
    time is told in the room's zone: no platform says a person's.
    """
    by = briefing.triggered_by
    known = {person.id: person.role for person in briefing.participants}
    context = platform_context(
        briefing.room.source,
        briefing.at,
        zone(briefing.timezone),
        user=by.name,
        role=by.role or known.get(by.id) or "",
    )
    asked = [line for line in briefing.transcript if line.id in briefing.trigger_ids]
    thanks = all(is_small_talk(line.text) and not line.attachments for line in asked)
    new = [
        file
        for line in briefing.transcript
        if line.id in briefing.trigger_ids or int(line.id) > given
        for file in line.attachments
        if is_picture(file)
    ]
    return TurnContext(context, bool(asked) and thanks, tuple(new[-MOST_PICTURES:]))
