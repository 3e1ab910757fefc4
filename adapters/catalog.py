"""The agents that are known, and whether their programs are on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.profiles import names, profile_named, profiles

if TYPE_CHECKING:
    from adapters.cli_profile import Profile

__all__ = ["find_program", "names", "profile_named", "profiles"]


def find_program(profile: Profile, command: Sequence[str], path: str) -> Path | None:
    """The program's path: command[0], or the profile's own, searched in `path`; None: nowhere."""
    name = (command or profile.program.begin)[0]
    program = shutil.which(name, path=path)
    return Path(program).absolute() if program else None
