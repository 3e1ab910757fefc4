"""`!mention` and `!follow`: which messages of a room are answered that name nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.audit.audit import Audit
from gateway.core.quoting import quoted
from gateway.sessions.room_settings import FOLLOW, RoomSettings
from gateway.settings.tables import Follow
from gateway.turns.commands import CommandRequest

DEFAULT = "default"
_MENTION: dict[str, bool | None] = {"on": True, "off": False, DEFAULT: None}
_FOLLOW: dict[str, Follow | None] = {**{one: one for one in FOLLOW}, DEFAULT: None}


@dataclass(frozen=True, slots=True)
class RoomCommands:
    """Handles them."""

    settings: RoomSettings
    audit: Audit

    async def run(self, request: CommandRequest) -> str:
        """Tell what holds, or choose it for all of the room."""
        room, by = request.turn.room, request.asked.by
        if not room.is_shared:
            return "In a direct message everything is answered."
        choices: Mapping[str, object] = _MENTION if request.name == "mention" else _FOLLOW
        word = request.argument.lower()
        if word:
            if word not in choices:
                listed = ", ".join(f"`{one}`" for one in choices)
                return f"{quoted(word, 40)!r} is none of {listed}."
            name = "require_mention" if request.name == "mention" else "follow"
            await self.settings.choose_for_all(room, by, **{name: choices[word]})
            await self.audit.note(request.name, by, room=room, chosen=word)
        told = self.settings.in_words(room, request.turn.bot)
        return f"From now on: {told}" if word else told[0].upper() + told[1:]
