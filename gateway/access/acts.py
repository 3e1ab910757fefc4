"""The least role that may do each act. Commands have theirs in their table."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.command_table import entry_of
from gateway.settings.access import Role

RULES: Mapping[str, Role] = {"persona edit": "owner", "persona rollback": "owner"}
"""Commands whose first word asks for more than they do without it. `!memory off` is not here: in a
direct message it is everybody's own, so it asks for itself."""


def act_of(name: str, argument: str) -> str:
    """The act that a command is: a key of RULES, or its bare name."""
    first = argument.split(None, 1)[0].lower() if argument.strip() else ""
    act = f"{name} {first}"
    return act if act in RULES else name


def least_role(act: str) -> Role:
    """Who may at least; what nobody listed is the owners'."""
    entry = entry_of(act.partition(" ")[0])
    return RULES.get(act) or (entry.role if entry else "owner")
