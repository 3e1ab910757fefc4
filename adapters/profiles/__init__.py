"""Agents as data: one file a command-line agent, called as the agent is. A file put here is found
by itself. One is imported when somebody asks for it: all of them take a tenth of a start."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.cli_profile import Profile
    from adapters.screen_profile import ScreenProfile

DEMO, GENERIC = "demo", "generic"
"""The agent that comes with Moot; any program that moot.toml describes."""

_SHARED = frozenset({"json_settings", "other_looks", "row_patterns"})  # files that are no agent's


def names() -> Sequence[str]:
    """Of every profile, sorted."""
    files = {module.name for module in pkgutil.iter_modules(__path__)}
    return tuple(sorted(file.replace("_", "-") for file in files - _SHARED))


@cache
def profile_named(name: str) -> Profile | None:
    """The profile; None: there is none."""
    if name not in names():
        return None
    from adapters.cli_profile import Profile  # it is there as soon as a profile is

    values = vars(importlib.import_module(f"{__name__}.{name.replace('-', '_')}")).values()
    return [value for value in values if isinstance(value, Profile) and value.name == name][-1]


@cache
def profiles() -> Mapping[str, Profile]:
    """Every profile by its name, in that order."""
    found = {name: profile_named(name) for name in names()}
    return MappingProxyType({name: profile for name, profile in found.items() if profile})


@cache
def looks() -> Mapping[str, ScreenProfile]:
    """The look of each of these programs, by its own name."""
    known = (profile.shown.look for profile in profiles().values())
    return MappingProxyType({look.name: look for look in known if look})
