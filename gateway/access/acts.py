"""The least role that may do each act. An act is a command's name, maybe with its first word.

`!memory off` is no act of its own: in a direct message it is everybody's, so it asks for itself.
"""

from __future__ import annotations

from gateway.core.command_table import entry_of
from gateway.settings.access import Role


def act_of(name: str, argument: str) -> str:
    """The act that a command is: with its first word, where that requires a higher role."""
    first = argument.split(None, 1)[0].lower() if argument.strip() else ""
    entry = entry_of(name)
    return f"{name} {first}" if entry is not None and first in entry.stricter else name


def least_role(act: str) -> Role:
    """The least role for an act; what nobody listed is the owners'."""
    name, _, first = act.partition(" ")
    entry = entry_of(name)
    return entry.stricter.get(first, entry.role) if entry is not None else "owner"
