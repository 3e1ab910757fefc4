"""The agents that are known, and whether their programs are on this machine."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

import adapters.profiles
from adapters.cli_profile import Profile


@cache
def profiles() -> Mapping[str, Profile]:
    """Every profile that a module of `adapters.profiles` defines, by name, in that order."""
    found: dict[str, Profile] = {}
    for module in pkgutil.iter_modules(adapters.profiles.__path__, "adapters.profiles."):
        values = vars(importlib.import_module(module.name)).values()
        found |= {value.name: value for value in values if isinstance(value, Profile)}
    return MappingProxyType(dict(sorted(found.items())))


def find_program(profile: Profile, command: Sequence[str], path: str) -> Path | None:
    """Where the program is: command[0], or the profile's own, searched in `path`."""
    name = (command or profile.begin)[0]
    program = shutil.which(name, path=path)
    return Path(program).absolute() if program else None
