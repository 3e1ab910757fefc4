"""`!help`: the commands that this person needs most, all that they may use, or one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contract.language import say
from contract.values import dataclass
from gateway.access.permits import Permits
from gateway.access.role_words import many_with
from gateway.core.command_spec import GROUPS, CommandSpec, one_line, usage
from gateway.core.command_table import TABLE, entry_of
from gateway.core.typing_errors import unknown
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest

EVERYTHING = "all"
MOST_NEEDED = ("stop", "retry", "new", "pin", "memory", "why", "status")
"""In the order of their worth."""
SHOWN = 5
NAMED = 8  # personas

May = Callable[[CommandSpec], bool]


@dataclass(frozen=True, slots=True)
class HelpCommand:
    """Handles `!help`."""

    permits: Permits

    async def run(self, request: CommandRequest) -> str:
        """The reply. Of one command it lists everything, also for those who may not use it."""
        wanted = request.argument.strip("`").lstrip("!/").lower()
        turn, asked = request.turn, request.asked

        def may(entry: CommandSpec) -> bool:
            return self.permits.given(entry.name, turn, asked)

        if not wanted:
            return _short(request.here, may)
        if wanted == EVERYTHING:
            return _all(request.here, may)
        entry = entry_of(wanted)
        return _one(entry) if entry else unknown(wanted)


def _short(here: Sequence[Persona], may: May) -> str:
    """Whom to ask, and the commands that people need most."""
    named = [f"@{persona.name}" for persona in here[:NAMED]]
    if (more := len(here) - NAMED) > 0:
        named.append(say("{more} more", more=more))
    lines = [say("Mention somebody to ask: {names}", names=", ".join(named))] if named else []
    entries = filter(None, map(entry_of, MOST_NEEDED))
    lines += [one_line(entry) for entry in entries if may(entry)][:SHOWN]
    return "\n".join([*lines, "", say("`!help all` lists all commands, `!help pin` explains one.")])


def _all(here: Sequence[Persona], may: May) -> str:
    lines = [say("Mention somebody to ask:")]
    lines += [f"- @{p.name}: {p.front.description or p.front.agent}" for p in here]
    for group, title in GROUPS.items():
        usable = [one_line(entry) for entry in TABLE if entry.group == group and may(entry)]
        lines += ["", f"{say(title)}:", *usable] if usable else []
    return "\n".join([*lines, "", say("`!help pin` explains one.")])


def _one(entry: CommandSpec) -> str:
    lines = [f"`{usage(entry)}`: {say(entry.says)}"]
    if entry.more:
        lines += ["", say(entry.more)]
    if entry.example:
        lines += ["", say("For example: `{example}`", example=entry.example)]
    if entry.role != "guest":
        lines += ["", say("For {whom}.", whom=many_with(entry.role))]
    return "\n".join(lines)
