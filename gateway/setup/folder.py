"""The folder that an agent shall work on: looked at before it is chosen."""

from __future__ import annotations

import os
from pathlib import Path

from adapters.sandbox.bubblewrap import overlap
from contract.values import dataclass
from gateway.sessions.sandbox import changeless_places, own_places
from gateway.settings.config import Config

KERNEL = tuple(map(Path, ("/proc", "/sys", "/dev", "/run")))
NO_UNDO = "no Git repository: what an agent changes there can't be taken back"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder as it was found. fault: why no agent can work there; "": one can. note: one more
    fact about it."""

    path: Path
    fault: str = ""
    note: str = ""


def look_at(given: str, config: Config, base: Path | None = None) -> Folder:
    """What a typed path leads to. base: where relative ones begin; None: they are refused."""
    try:
        path = Path(given).expanduser()
    except RuntimeError:
        return Folder(Path(given), f"{given} names an account that is not on this machine")
    if not path.is_absolute():
        if base is None:
            return Folder(path, f"{given}: begin with / or ~")
        path = Path(os.path.normpath(base / path))
    if fault := _fault(path, config):
        return Folder(path, fault)
    if not os.access(path, os.W_OK):
        return Folder(path, note="this account may read it and not write to it; so may the agent")
    return Folder(path, note="a Git repository" if repository_of(path) else NO_UNDO)


def _fault(path: Path, config: Config) -> str:
    if not path.exists():
        parent = next(above for above in path.parents if above.exists())
        return f"{path} is not there: {parent} has no {path.relative_to(parent).parts[0]}"
    if not path.is_dir():
        return f"{path} is a file; name the folder that it is in"
    if not os.access(path, os.R_OK | os.X_OK):
        return f"{path} can't be read by this account"
    real = path.resolve()
    if Path.home().resolve().is_relative_to(real):
        return f"{path} holds everything of this account, its keys too; name one folder in it"
    if any(real.is_relative_to(kernel) for kernel in KERNEL):
        return f"{path} is the system's; name a folder of yours"
    for own in (*own_places(config), *changeless_places()):
        if overlap(real, own.resolve()):
            return f"{path} would show {own}, which is Moot's own; choose another folder"
    return ""


def repository_of(path: Path) -> Path | None:
    """The top of the Git repository that a folder is in; None: it is in none."""
    return next((one for one in (path, *path.parents) if (one / ".git").exists()), None)


def suggested(config: Config, here: Path) -> Path | None:
    """The repository that one stands in, if an agent can work on it."""
    top = repository_of(here.absolute())
    return top if top and not look_at(str(top), config).fault else None
