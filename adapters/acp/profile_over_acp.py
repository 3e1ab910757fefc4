"""A profile for the Agent Client Protocol instead of a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adapters.cli_profile import Profile, Setting


def acp_profile(profile: Profile) -> Profile:
    """The profile whose program is the one that speaks the protocol, without the other's argv."""
    memory = profile.memory if profile.memory and not profile.memory.options else None
    return replace(
        profile,
        begin=profile.acp,
        resume=(),
        options=profile.acp_options,
        memory=memory,
        chooses_id=False,
    )


def acp_command(profile: Profile, command: Sequence[str]) -> Sequence[str]:
    """An administrator's command for the profile, over this protocol.

    Where another program of the same folder speaks it (`vibe-acp` beside `vibe`), that is meant.
    """
    if len(command) == 1 and Path(command[0]).name == profile.begin[0] != profile.acp[0]:
        return (str(Path(command[0]).with_name(profile.acp[0])),)
    return command


def settings_differ(profile: Profile, one: Setting, other: Setting) -> bool:
    """Whether the program's files or variables tell it the difference."""
    return any(file.text(one, "") != file.text(other, "") for file in profile.files) or any(
        one.fill(value) != other.fill(value) for _, value in profile.env
    )
