"""Slash commands, as a platform that knows them is told of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlashOption:
    """An argument of a command. choices: its possible values; empty: any text."""

    name: str
    says: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One of ours; with its options as words behind it, it is what one would type."""

    name: str
    says: str
    options: tuple[SlashOption, ...] = ()
