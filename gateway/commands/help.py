"""`!help`: all commands that this person may use, or everything about one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contract.language import say
from gateway.access.permits import Permits
from gateway.access.role_words import many_with
from gateway.core.command_spec import GROUPS, CommandSpec, one_line, usage
from gateway.core.command_table import TABLE, entry_of
from gateway.core.typing_errors import unknown
from gateway.settings.personas.personas import Persona
from gateway.turns.commands import CommandRequest


@dataclass(frozen=True, slots=True)
class HelpCommand:
    """Handles `!help`."""

    permits: Permits

    async def run(self, request: CommandRequest) -> str:
        """The reply. Of one command it lists everything, also for those who may not use it."""
        wanted = request.argument.strip("`").lstrip("!/").lower()
        if wanted:
            entry = entry_of(wanted)
            return _one(entry) if entry else unknown(wanted)
        turn, asked = request.turn, request.asked
        return _all(request.here, lambda entry: self.permits.given(entry.name, turn, asked))


def _all(here: Sequence[Persona], may: Callable[[CommandSpec], bool]) -> str:
    lines = [say("Mention somebody to ask:")]
    lines += [f"- @{p.name}: {p.front.description or p.front.agent}" for p in here]
    for group, title in GROUPS.items():
        usable = [one_line(entry) for entry in TABLE if entry.group == group and may(entry)]
        lines += ["", f"{say(title)}:", *usable] if usable else []
    return "\n".join([*lines, "", say("`!help pin` tells more of one.")])


def _one(entry: CommandSpec) -> str:
    lines = [f"`{usage(entry)}`: {say(entry.says)}"]
    if entry.more:
        lines += ["", say(entry.more)]
    if entry.example:
        lines += ["", say("For example: `{example}`", example=entry.example)]
    if entry.role != "guest":
        lines += ["", say("For {whom}.", whom=many_with(entry.role))]
    return "\n".join(lines)
