"""Accounts of sessions, where Moot runs as root and no sandbox can be made: a number for each HOME.

The number is kept as the HOME's owner, so that there is no list that could be lost.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from threading import Lock
from zlib import crc32

from adapters.sandbox.account import AGENTS, LAST, end_account, give
from contract.errors import AgentError
from contract.language import later
from gateway.core.private_folders import LENT, LENT_FILE, LENT_FOLDER, SCOPES

_ENTER = 0o010


class SessionAccounts:
    """Gives each session's folder an account, always the same one."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._first = crc32(bytes(data_dir.resolve()))  # another Moot here takes others
        self._given: set[int] = set()
        self._lock = Lock()

    def give(self, folder: Path, workspace: Path) -> int:
        """The account of a session's folder, which owns its HOME now, and a workspace of Moot's.
        Nothing runs under it any more. Raises AgentError, OSError."""
        with self._lock:
            self._close()
            owner = (folder / "home").stat().st_uid
            account = owner if AGENTS < owner <= LAST else self._next()
            end_account(account)
        for own in self._ours(folder, workspace):
            give(own, account, of=os.geteuid())
        self._open(folder, account)
        return account

    def take_back(self, folder: Path, workspace: Path) -> None:
        """Own again what an account was given, once a sandbox can be made."""
        owner = (folder / "home").stat().st_uid
        if os.geteuid() != 0 or not AGENTS < owner <= LAST:
            return
        end_account(owner)
        for own in self._ours(folder, workspace):
            give(own, os.geteuid(), of=owner)

    def _ours(self, folder: Path, workspace: Path) -> list[Path]:
        own = [workspace] if workspace.is_relative_to(self._data_dir) else []
        return [folder / "home", *own]

    def _next(self) -> int:
        """A number that nobody has, nor had while Moot runs."""
        homes = (self._data_dir / SCOPES).glob("*/*/home")
        self._given.update(home.stat().st_uid for home in homes)
        for step in range(LAST - AGENTS):
            account = AGENTS + 1 + (self._first + step) % (LAST - AGENTS)
            if account not in self._given and not _has_name(account):
                self._given.add(account)
                return account
        line = later("There are too many sessions for accounts of their own: install bubblewrap.")
        raise AgentError("missing", "no account is left", say=line)

    def _close(self) -> None:
        """Let nobody but Moot read what lies in the data directory, which all accounts enter."""
        os.umask(0o077)
        for entry in self._data_dir.iterdir():
            found = entry.lstat()
            if found.st_gid != AGENTS and not stat.S_ISLNK(found.st_mode):
                entry.chmod(found.st_mode & 0o700)

    def _open(self, folder: Path, account: int) -> None:
        """Let the account get to its folders, and no other into them."""
        assert folder.is_relative_to(self._data_dir)
        files = folder / LENT
        files.mkdir(exist_ok=True)
        for place in (files, *files.rglob("*")):
            os.chown(place, os.geteuid(), account)
            place.chmod(LENT_FOLDER if place.is_dir() else LENT_FILE)
        for step in (folder, *folder.parents):
            own = step == folder
            os.chown(step, os.geteuid(), account if own else AGENTS)
            step.chmod(0o700 | _ENTER)
            if step == self._data_dir:
                return


def _has_name(account: int) -> bool:
    try:
        pwd.getpwuid(account)
    except KeyError:
        return False
    return True
