"""A program under an account of its session's own, where Moot runs as root and no sandbox can be
made. The account has no name and no rights: what it owns are its HOME and its workspace.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from adapters.agent import Launch
from adapters.pty.process_tree import BECOME, PYTHON
from adapters.pty.refused_calls import CALLS, refused_namespaces
from adapters.pty.terminal import StartCommand
from adapters.sandbox.installation import trail
from contract.errors import AgentError
from contract.language import later

AGENTS = 52_000
"""The group of all such accounts. Theirs are the numbers behind it, which no distribution uses."""
LAST = 59_999
OPEN_DISKS, OPEN_MEMORY = ("/tmp", "/var/tmp"), ("/dev/shm",)  # noqa: S108
"""Where every account of this machine may write."""
SHARED = {
    "shm": {"rss": 1, "swap": 1},
    "msg": {"cbytes": 1, "qnum": 64},
    "sem": {"nsems": 64},
}
"""Of System V, in /proc/sysvipc: what stays in memory although no process has it, and the bytes
that one of each column stands for."""
_LEAST = 512  # bytes that one takes, however empty
_ENTER, _READ = 0o001, 0o005  # by others; what may be run need not be readable

TAKE_ACCOUNT = (
    """
import ctypes, os, resource, stat, sys
_, account, group, most_bytes, refused, locale, *argv = sys.argv
account = int(account)
if int(most_bytes):  # now, as nobody may limit another account's processes without a capability
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), int(most_bytes)))
for fd in (0, 1, 2):  # so that the program may open its terminal once more, by its name
    if os.isatty(fd) or stat.S_ISFIFO(os.fstat(fd).st_mode):
        os.fchown(fd, account, -1)
os.setgroups([int(group)])
os.setresgid(account, account, account)
os.setresuid(account, account, account)
refused = (bytes.fromhex(refused),)
os.umask(0o077)
"""
    + BECOME
)
# It runs as the account, so that it can harm no other. One call reaches all of an account at once,
# those too that only make more of themselves. What it has where all may write goes with them.
END_ACCOUNT = """
import ctypes, os, sys, time
account = int(sys.argv[1])
os.setgroups([])
os.setresgid(account, account, account)
os.setresuid(account, account, account)
for _ in range(20):
    try:
        os.kill(-1, 9)
    except ProcessLookupError:
        break
    time.sleep(0.01)
left = []
for folder in sys.argv[2:]:
    try:
        for one in os.scandir(folder):
            if one.stat(follow_symlinks=False).st_uid == account:
                left.append(one.path)
    except OSError:  # it is not there, or went away meanwhile
        continue
library = ctypes.CDLL(None)
for kind, remove in (
    ("shm", library.shmctl),
    ("msg", library.msgctl),
    ("sem", lambda number, do, _: library.semctl(number, 0, do)),
):
    try:
        with open(f"/proc/sysvipc/{kind}") as rows:
            names, *rows = [row.split() for row in rows]
    except OSError:
        continue
    for row in rows:
        if row[names.index("cuid")] == str(account):
            remove(int(row[1]), 0, None)  # IPC_RMID
if left:
    os.execv("/bin/rm", ["rm", "-rf", "--", *left[:10_000]])
"""


def no_accounts(data_dir: Path) -> str:
    """The reason why agents can't have accounts of their own here; "": they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "Moot is not started as root, who could give each session an account of its own"
    if not refused_namespaces():
        return f"which calls an account must not make is known for {', '.join(CALLS)} alone"
    if closed := _closed(data_dir.resolve().parent):
        return (
            f"another account can't enter {closed}, where `data_dir` is: move it to /var/lib/moot"
        )
    return ""


def reachable(paths: Iterable[Path]) -> bool:
    """True when such an account can get at all of these."""
    return not any(_hidden(path) for path in paths)


def under_account(
    launch: Launch, account: int, title: str, command: StartCommand, needs: Iterable[Path] = ()
) -> StartCommand:
    """The command, run by the account, which is given what Moot wrote into its HOME.

    needs: what the program reads. Raises AgentError when the account can't get at that; OSError.
    """
    places = map(_hidden, (Path(command.argv[0]), *needs))
    if hidden := next(filter(None, places), None):
        say = later(
            "{title} can't be started: I run under an account of my own, which can't get at "
            "{hidden}. An administrator installs it for all accounts, e.g. in /usr/local.",
            title=title,
            hidden=hidden,
        )
        raise AgentError("missing", f"account: {hidden} is closed to others", say=say)
    give(launch.home, account, of=os.geteuid())
    words = (PYTHON, "-I", "-S", "-c", TAKE_ACCOUNT)
    told = (str(account), str(AGENTS), str(launch.file_bytes), refused_namespaces().hex())
    return replace(command, as_account=(*words, *told, command.env.get("LC_CTYPE", "")))


def give(folder: Path, account: int, *, of: int) -> None:
    """Give an account what lies in a folder, and is another's; no link is followed.

    What has a second name somewhere stays as it is: it may be another one's file.
    """
    for place, _, names, handle in os.fwalk(folder, follow_symlinks=False):
        if os.fstat(handle).st_uid == of:
            os.fchown(handle, account, account)
        for name in (*names, *_links(place)):
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if found.st_uid == of and (found.st_nlink == 1 or stat.S_ISLNK(found.st_mode)):
                os.chown(name, account, account, dir_fd=handle, follow_symlinks=False)


def _links(place: str) -> list[str]:
    """Links to folders, which a walk counts as folders."""
    with os.scandir(place) as found:
        return [entry.name for entry in found if entry.is_symlink() and entry.is_dir()]


def end_account(account: int) -> None:
    """End whatever an earlier session left of it, and delete what it has where all accounts may
    write. Raises OSError."""
    try:
        subprocess.run(
            [PYTHON, "-I", "-S", "-c", END_ACCOUNT, str(account), *OPEN_MEMORY, *OPEN_DISKS],
            env={},
            cwd="/",
            check=False,
            timeout=30,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(errno.ETIMEDOUT, "what an earlier session left does not end") from error


def shared_by(account: int) -> int:
    """The bytes of memory that an account shares by System V's means, attached or not.

    Who made it counts: it may be given to another one.
    """
    found = 0
    for kind, columns in SHARED.items():
        try:
            names, *rows = Path("/proc/sysvipc", kind).read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):  # this kernel has none
            continue
        for row in rows:
            told = dict(zip(names.split(), row.split(), strict=False))
            if told["cuid"] == str(account):
                found += _LEAST + sum(int(told[name]) * each for name, each in columns.items())
    return found


def _hidden(path: Path) -> Path | None:
    """The first thing on the way to a file that others may not enter or run."""
    links, real = trail(path)
    for place in (*(link.parent for link in links), real):
        if closed := _closed(place):
            return closed
    return None


def _closed(path: Path) -> Path | None:
    for step in (*reversed(path.parents), path):
        if not step.exists() or (not step.stat().st_mode & (_ENTER if step.is_dir() else _READ)):
            return step
    return None
