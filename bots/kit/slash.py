"""Slash commands, as a platform that knows them is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from contract.chat import Room, Speaker
from contract.values import dataclass

Suggest = Callable[[Room, Speaker], Sequence[str]]
"""The values that somebody may give there now; must not wait."""


@dataclass(frozen=True, slots=True)
class SlashOption:
    """An argument of a command. choices: its possible values; empty: any text. suggest: values to
    be offered while it is written, where it may be any text."""

    name: str
    says: str
    required: bool = False
    choices: tuple[str, ...] = ()
    suggest: Suggest | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One of ours; with its options as words behind it, it is what one would type."""

    name: str
    says: str
    options: tuple[SlashOption, ...] = ()
