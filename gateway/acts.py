"""What each command asks for: the least role that may say it."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.access_tables import Role
from memory.landmarks import KINDS

_LOOKS = (
    "help", "stop", "why", "status", "recall", "landmarks", "agents", "usage", "persona",
    "persona history", "memory", "share", "unshare", "forget",
)  # fmt: skip
_WORKS = ("new", "compact", "model", *KINDS, "unpin", "every")
_RULES = ("pair", "role", "persona edit", "persona rollback", "audit")

LEAST: Mapping[str, Role] = {
    **dict.fromkeys(_LOOKS, "guest"),
    **dict.fromkeys(_WORKS, "member"),
    **dict.fromkeys(_RULES, "owner"),
}
"""A command, or a command and its first word where that asks for more. What is told of people's own
memory is theirs; `!memory off` asks for itself, as in a direct message it is theirs, too."""


def act_of(name: str, argument: str) -> str:
    """The act that a command is: a key of LEAST, or its bare name."""
    first = argument.split(None, 1)[0].lower() if argument.strip() else ""
    act = f"{name} {first}"
    return act if act in LEAST else name


def least_role(act: str) -> Role:
    """Who may at least; what nobody listed is the owners'. An answer (`1`) is asked elsewhere."""
    if act.isdecimal():
        return "guest"
    return LEAST.get(act, "owner")
