"""A command as data: what it is called, what it does, who may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from contract.language import phrase, say
from contract.values import dataclass
from gateway.settings.access import Role

Group = Literal["agents", "memory", "house"]

GROUPS: Mapping[Group, str] = {
    "agents": phrase("The agents here"),
    "memory": phrase("What is remembered"),
    "house": phrase("Moot itself"),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """Something written after a command. choices: the words that it may be; empty: any text."""

    name: str
    says: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command.

    says: what it does, a line of `!help`. shape: its arguments as `!help model` shows them.
    more: further lines of that. role: the least that may use it. text: what is written behind it
    is somebody's text, and is kept as it is; else it is words, and their last punctuation goes.
    aliases: other names of it. in_order: it waits for the turns before it, others act at once.
    once: it is done once; others once for each persona that is named. private: its reply lists
    what is one person's own: only they see it where the platform can do that. stricter: first words
    that require a higher role. handler: which handler of app/handlers.py carries it out.
    """

    name: str
    says: str
    handler: str
    group: Group = "agents"
    shape: str = ""
    example: str = ""
    more: str = ""
    arguments: tuple[Argument, ...] = ()
    aliases: tuple[str, ...] = ()
    role: Role = "guest"
    text: bool = False
    in_order: bool = False
    once: bool = False
    private: bool = False
    stricter: Mapping[str, Role] = field(default_factory=dict)


def one_line(entry: CommandSpec) -> str:
    """The command as a line of `!help`, in Markdown."""
    return f"- `!{entry.name}` {say(entry.says)}"


def usage(entry: CommandSpec) -> str:
    """Its written form, e.g. `!unpin <number>`."""
    return f"!{entry.name} {entry.shape}".rstrip()
