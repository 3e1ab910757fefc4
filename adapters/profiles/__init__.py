"""Agents as data: one file a command-line agent. A file put here is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from adapters.cli_profile import Profile
from adapters.screen_profile import ScreenProfile


@cache
def profiles() -> Mapping[str, Profile]:
    """Every profile that a module of this folder defines, by name, in that order."""
    found: dict[str, Profile] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        values = vars(importlib.import_module(module.name)).values()
        found |= {value.name: value for value in values if isinstance(value, Profile)}
    return MappingProxyType(dict(sorted(found.items())))


@cache
def looks() -> Mapping[str, ScreenProfile]:
    """The look of each of these programs, by its own name."""
    known = (profile.shown.look for profile in profiles().values())
    return MappingProxyType({look.name: look for look in known if look})
