"""The agents that are known, and whether their programs are on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from adapters.cli_profile import Profile
from adapters.profiles import profiles

__all__ = ["profiles", "find_program"]


def find_program(profile: Profile, command: Sequence[str], path: str) -> Path | None:
    """The program's path: command[0], or the profile's own, searched in `path`; None: nowhere."""
    name = (command or profile.program.begin)[0]
    program = shutil.which(name, path=path)
    return Path(program).absolute() if program else None
