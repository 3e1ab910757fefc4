"""`!persona`: who is here, what they are told, and how that came to be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from contract.errors import MootError
from contract.language import later, phrase, say
from gateway.access.access import Access
from gateway.personas.service import PersonaFile, PersonaService
from gateway.personas.versions import Version
from gateway.settings.personas.faults import Unknown
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest

USAGE = phrase(
    "Say `!persona`, `!persona NAME`, or `!persona history`, `diff` or `rollback` and a name."
)
BEGINNING = 1_500  # characters of a text, so that the reply is one post on most platforms
LATEST = 12  # versions that a history shows
_NUMBER = re.compile(r"[0-9]{1,9}")
_VERBS = ("history", "diff", "rollback")


class PersonaCommands:
    """Handles them. The replies are Markdown."""

    def __init__(
        self, personas: PersonaService, access: Access, zone: ZoneInfo, public_url: str
    ) -> None:
        """public_url: the page's address for people; "": it has none."""
        self._personas = personas
        self._access = access
        self._zone = zone
        self._public_url = public_url.rstrip("/")

    async def run(self, request: CommandRequest) -> str:
        """Do what it says; return the reply."""
        words = request.argument.split()
        verb = words.pop(0).lower() if words and words[0].lower() in _VERBS else ""
        numbers = [int(word) for word in words if _NUMBER.fullmatch(word)]
        names = [word for word in words if not _NUMBER.fullmatch(word)]
        if not words and not verb:
            return await self._who(request.here)
        if len(names) > 1 or len(numbers) > 2 or (numbers and not verb):
            return say(USAGE)
        try:
            name = self._name(names, request, sure=verb == "rollback")
            return await self._do(verb, name, numbers, request)
        except MootError as error:
            return f"{error.say[0].upper()}{error.say[1:]}."

    async def _do(self, verb: str, name: str, numbers: list[int], request: CommandRequest) -> str:
        match verb:
            case "history":
                return await self._history(name)
            case "diff":
                return await self._diff(name, numbers)
            case "rollback":
                return await self._roll_back(name, numbers, request)
        return _told(await self._personas.sheet(name))

    def _name(self, names: list[str], request: CommandRequest, *, sure: bool) -> str:
        """The persona that it is about: one of those who are here. Owners of the house may name any
        other, too, to roll it back, and in a direct message.

        sure: it is changed, so with several of them here it must be said. Raises Unknown.
        """
        here, turn = request.here, request.turn
        known = {called: persona.name for persona in here for called in persona.names}
        if names:
            wanted = names[0].removeprefix("@").lower()
            if wanted in known:
                return known[wanted]
            if (sure or not turn.room.is_shared) and self._access.is_owner_everywhere(
                turn.room, request.asked.by.id
            ):
                return wanted
            raise Unknown(later("there is no persona {name} here", name=repr(wanted)))
        if len(here) == 1:
            return here[0].name
        if turn.persona in known and not sure:
            return turn.persona
        raise Unknown(
            later("say which one: {listed}", listed=", ".join(f"`{p.name}`" for p in here))
        )

    async def _who(self, here: Sequence[Persona]) -> str:
        if not here:
            return say("No persona is here.")
        lines = [say("Who is here:")]
        for persona in here:
            number = await self._personas.number(persona)
            about = persona.front.description or persona.front.agent
            lines.append(
                say(
                    "- @{persona}: {about} (version {number})",
                    persona=persona.name,
                    about=about,
                    number=number,
                )
            )
        return "\n".join(lines)

    async def _history(self, name: str) -> str:
        await self._personas.sheet(name)
        versions = await self._personas.versions.of(name)
        lines = [say("@{name}'s versions, the newest first:", name=name)]
        lines += [f"- {v.number}: {v.about()}, {self._when(v)}" for v in versions[:LATEST]]
        if (more := len(versions) - LATEST) > 0:
            lines.append(say("- and {more} more", more=more))
            if url := self._public_url:
                lines.append(say("All of them: {url}/#personas/{name}", url=url, name=name))
        return "\n".join(lines)

    def _when(self, version: Version) -> str:
        at: datetime = version.at.astimezone(self._zone)
        return f"{at:%Y-%m-%d %H:%M}"

    async def _diff(self, name: str, numbers: list[int]) -> str:
        """The difference to the version before the newest, or between those that were named."""
        versions = [v.number for v in await self._personas.versions.of(name)]
        if not numbers:
            if len(versions) < 2:
                return say("@{name} has only one version.", name=name)
            numbers = [versions[1], versions[0]]
        older, newer = numbers[0], numbers[1] if len(numbers) > 1 else None
        text = await self._personas.diff(name, older, newer)
        if not text:
            return say("They are the same.")
        return _fenced(_cut(text), "diff")

    async def _roll_back(self, name: str, numbers: list[int], request: CommandRequest) -> str:
        if len(numbers) > 1:
            return say(USAGE)
        wanted = numbers[0] if numbers else None
        version = await self._personas.roll_back(
            name, wanted, request.asked.by, room=request.turn.room
        )
        what = say("version {wanted}", wanted=wanted) if wanted else say("the version before")
        return say(
            "@{name} is as in {what} again, now version {number}: from its next turn on.",
            name=name,
            what=what,
            number=version.number,
        )


def _told(sheet: PersonaFile) -> str:
    """A persona's file: its front matter and how its body begins."""
    number = (
        say("version {number}", number=sheet.version.number)
        if sheet.version
        else say("no good version yet")
    )
    state = {"good": "", "broken": say("; the file is broken, its last good form is used")}
    about = say(
        "@{sheet} ({number}{state}) is told:",
        sheet=sheet.name,
        number=number,
        state=state.get(sheet.state, say("; deleted")),
    )
    return f"{about}\n{_fenced(_cut(sheet.text), 'markdown')}"


def _cut(text: str) -> str:
    if len(text) <= BEGINNING:
        return text
    cut = text[:BEGINNING].rpartition("\n")[0] or text[:BEGINNING]
    return say("{cut}\n… ({n} more characters)", cut=cut, n=f"{len(text) - len(cut):,}")


def _fenced(text: str, language: str) -> str:
    """A code block that no back-ticks in the text can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
