"""`!mention`, `!follow` and `!language`: what holds for all of a room."""

from __future__ import annotations

from collections.abc import Mapping

from contract.language import LANGUAGES, NAMES, Language, current, known, say, speaking
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.role_words import many_with
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
    """Handles them. language: that of moot.toml."""

    settings: RoomSettings
    access: Access
    audit: Audit
    language: Language

    async def run(self, request: CommandRequest) -> str:
        """Tell what holds, or choose it for all of the room."""
        room, by = request.turn.room, request.asked.by
        word = request.argument.lower()
        if request.name == "language":
            return await self._speak(word, request)
        if not room.is_shared:
            return say("In a direct message everything is answered.")
        choices: Mapping[str, object] = _MENTION if request.name == "mention" else _FOLLOW
        if word:
            if word not in choices:
                return _none_of(word, tuple(choices))
            name = "require_mention" if request.name == "mention" else "follow"
            await self.settings.choose_for_all(room, by, **{name: choices[word]})
            await self.audit.note(request.name, by, room=room, chosen=word)
        told = self.settings.in_words(room, request.turn.bot)
        return say("From now on: {told}", told=told) if word else told[0].upper() + told[1:]

    async def _speak(self, word: str, request: CommandRequest) -> str:
        """In a direct message everybody chooses for themselves; a room's is an owner's choice."""
        room, by = request.turn.room, request.asked.by
        if not word:
            listed = ", ".join(f"`{one}` {NAMES[one]}" for one in LANGUAGES)
            return say(
                "I speak {language} here. `!language` and one of these changes it: {listed}.",
                language=NAMES[current()],
                listed=listed,
            )
        chosen = next((one for one in LANGUAGES if NAMES[one].lower() == word), known(word))
        if chosen is None and word != DEFAULT:
            return _none_of(word, (*LANGUAGES, DEFAULT))
        if room.is_shared and not self.access.is_owner(room, by.id):
            await self.audit.note("refuse", by, room=room, command="language")
            who, owners = quoted(by.name, 80), many_with("owner")
            return say("{who}, `!{act}` is for {which}.", who=who, act="language", which=owners)
        await self.settings.choose_for_all(room, by, language=chosen)
        await self.audit.note("language", by, room=room, chosen=chosen or DEFAULT)
        with speaking(chosen or self.language):
            return say("From now on I speak {language} here.", language=NAMES[current()])


def _none_of(word: str, choices: tuple[str, ...]) -> str:
    listed = ", ".join(f"`{one}`" for one in choices)
    return say("{word} is none of {listed}.", word=f"{quoted(word, 40)!r}", listed=listed)
