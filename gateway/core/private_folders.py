"""Folders that no other account of this machine can look into."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

from contract.errors import ConfigError

SCOPES = "scopes"
FILES = "files"  # of people's messages, and those that agents attach
LENT = "files"  # in a session's folder: what its program is to open
LENT_FOLDER, LENT_FILE = 0o2750, 0o640  # its group, and of all below, may be the session's account
OWNER_SECRET = "owner.secret"  # noqa: S105  (a file in the data directory)
_WORLD = 0o077  # rights of everybody but the owner
_AGENTS = (SCOPES, "model")  # what agents make keeps the modes that they gave it


def make_data_folder(data_dir: Path) -> None:
    """Make it, where it is not there. Raises ConfigError: it can't be made, or written to."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _no_data_folder(data_dir, error) from error


def try_data_folder(data_dir: Path) -> None:
    """Raises ConfigError where it could not be made, or takes no file. Nothing of it stays."""
    here = next(one for one in (data_dir, *data_dir.absolute().parents) if os.path.lexists(one))
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".moot-", dir=here))
    except OSError as error:
        raise _no_data_folder(data_dir, error) from error


def _no_data_folder(data_dir: Path, error: OSError) -> ConfigError:
    within = [one for one in (data_dir, *data_dir.absolute().parents) if os.path.lexists(one)]
    if within and not within[0].is_dir():
        what = "it is a file" if within[0] == data_dir else f"{within[0]} is a file"
        why = f"{what}, no folder: move it away, or"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "its disk is full: make room, or"
    elif error.errno == errno.EROFS:
        why = "its disk is read-only:"
    elif isinstance(error, PermissionError):
        why = f"this account may not write to {within[0] if within else data_dir}: let it, or"
    else:
        why = f"no folder can be made in {within[0] if within else data_dir}:"
    return ConfigError(
        f"[gateway] data_dir: {data_dir} can't be used, as {why} name another folder in moot.toml"
    )


def keep_private(data_dir: Path) -> None:
    """Make the data directory, or take everybody else's rights from it and from its files, as
    libraries made them; the scopes' folder is ours alone. Raises ConfigError."""
    make_data_folder(data_dir)
    with suppress(OSError):
        _close(data_dir)
    for here, folders, names in os.walk(data_dir):
        if Path(here) == data_dir:
            folders[:] = [name for name in folders if name not in _AGENTS]
        for name in (*folders, *names):
            with suppress(OSError):  # it is gone, or somebody else's
                _close(Path(here, name))
    scopes = data_dir / SCOPES
    try:
        scopes.mkdir(exist_ok=True, mode=0o700)
        scopes.chmod(0o700)
        (data_dir / FILES).mkdir(exist_ok=True, mode=0o700)  # and all that is put into it later
    except OSError as error:
        raise _no_data_folder(data_dir, error) from error


private = partial(os.open, mode=0o600)
"""An `opener` of files that are for their owner alone."""


def _close(path: Path) -> None:
    mode = path.lstat().st_mode
    if mode & _WORLD and not stat.S_ISLNK(mode):
        path.chmod(stat.S_IMODE(mode) & ~_WORLD)


def make_private(folder: Path, *, below: Path) -> None:
    """Make a folder and those between it and `below`, each for its owner alone."""
    for step in reversed([folder, *folder.parents]):
        if step.is_relative_to(below):
            step.mkdir(parents=True, exist_ok=True, mode=0o700)
