"""The person whom somebody names: by id, by mention, or by a name that only one has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bots.bot import Bot
from contract.chat import MENTION, Room, Speaker
from contract.values import dataclass
from gateway.access.access import TRUSTED
from gateway.access.visibility import Rosters
from gateway.settings.person_ids import is_person_id, unaliased
from store.transcript import Transcript

_TAGGED = re.compile(MENTION)
_MATRIX = re.compile(r"@[\w.=/+-]+:[A-Za-z0-9-][A-Za-z0-9.-]*(?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class People:
    """The people who have spoken, and those who are in the room."""

    transcript: Transcript
    rosters: Rosters
    bots: Mapping[str, Bot]

    async def meant(self, text: str, room: Room, bot: str) -> Sequence[Speaker]:
        """Everybody whom it may mean; none, one, or several of the same name.

        An id or a mention means one person even if nobody has heard of them yet.
        """
        known = await self._known(room, bot)
        if is_person_id(text):
            return [_by_id(text, known)]
        if (tagged := _TAGGED.fullmatch(text)) is not None:
            return [_by_id(f"{room.source}:{tagged[1]}", known)]
        if room.source == "matrix" and _MATRIX.fullmatch(text):
            return [_by_id(f"{room.source}:{text}", known)]
        here = [one for one in known if _is_of(one, room)]
        wanted = text.lstrip("@").casefold()
        mentioned = [one for one in here if (one.mention or "").lstrip("@").casefold() == wanted]
        named = [one for one in here if " ".join(one.name.split()).casefold() == wanted]
        return mentioned or named

    async def named(self, person_id: str) -> Speaker:
        """A person by their id, with the name that they last spoke under."""
        return _by_id(person_id, await self.transcript.people())

    async def _known(self, room: Room, bot: str) -> list[Speaker]:
        """The people of these ids, each once."""
        roster = await self.rosters.awaited(room, self.bots[bot]) if bot in self.bots else ()
        spoken = await self.transcript.people()
        found: dict[str, Speaker] = {}
        for one in (*roster, *spoken):
            found.setdefault(unaliased(one.id), one)
        return list(found.values())


def _by_id(person_id: str, known: Sequence[Speaker]) -> Speaker:
    wanted = unaliased(person_id)
    same = (one for one in known if unaliased(one.id) == wanted)
    return next(same, Speaker(person_id, person_id.partition(":")[2]))


def _is_of(person: Speaker, room: Room) -> bool:
    """True if the room's platform knows them. On the page a name may be anybody's."""
    source = unaliased(room.id).partition(":")[0]
    return room.source in TRUSTED or unaliased(person.id).partition(":")[0] == source
