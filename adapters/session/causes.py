"""What may be behind a program's failure: a full disk, or a version that is too old."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adapters.cli_profile import Profile
from adapters.session.disk import is_full, when_full
from adapters.session.version import age_of
from contract.errors import AgentError

_MAYBE_DISK = ("startup", "crash", "timeout", "api")


async def explain(
    error: AgentError,
    profile: Profile,
    command: tuple[str, ...],
    env: Mapping[str, str],
    home: Path,
) -> AgentError:
    """The error, or what is behind it where the machine shows that.

    command: the program as an absolute path, with the words that always follow it.
    """
    if error.kind in _MAYBE_DISK and is_full(home):
        say = f"{profile.title} failed. {when_full(home)}"
        return AgentError("disk", str(error), say=say, partial=error.partial)
    if error.kind == "startup" and (age := await age_of(profile, command, env, home)):
        say = f"{error.say.rstrip('.')}. {age}"
        return AgentError("startup", f"{error}; {age}", say=say, partial=error.partial)
    return error
