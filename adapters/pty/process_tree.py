"""All processes of one session's program, however they detached: how they are kept and ended.

Below bubblewrap they share a pid namespace, which ends with it. Everywhere else a keeper
(`adapters/pty/keeper.py`) stands between Moot and the program. Either is the root of the tree.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from adapters.pty import keeper
from adapters.pty.keeper import descendants, signal_all
from adapters.pty.process_table import ProcessRow, read_process
from adapters.pty.refused_calls import refused_typing

PYTHON = getattr(sys, "_base_executable", sys.executable)  # of no virtual environment
BECOME = f"""
import ctypes
class Filter(ctypes.Structure):
    _fields_ = [("lines", ctypes.c_ushort), ("at", ctypes.c_char_p)]
prctl = ctypes.CDLL(None, use_errno=True).prctl
for calls in (*refused, bytes.fromhex("{refused_typing().hex()}")):
    if calls and prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS: nothing gives it others' rights
        sys.exit("no_new_privs is refused")
    if calls and prctl(22, 2, ctypes.byref(Filter(len(calls) // 8, calls)), 0, 0):  # PR_SET_SECCOMP
        sys.exit(f"seccomp is refused: {{os.strerror(ctypes.get_errno())}}")
keyctl = {{"x86_64": 250, "aarch64": 219}}.get(os.uname().machine)
if keyctl:  # keys of whoever started Moot, and of other sessions, are not this one's
    ctypes.CDLL(None).syscall(keyctl, 1, None)  # KEYCTL_JOIN_SESSION_KEYRING
if locale:
    os.environ["LC_CTYPE"] = locale
else:
    os.environ.pop("LC_CTYPE", None)
try:
    os.execv(argv[0], argv)
except OSError as error:
    os.write(2, f"{{argv[0]}}: {{error.strerror}}\\n".encode())
    os._exit(127)
"""
"""The end of the few lines of Python that stand before a program: `argv` becomes it, with the
`locale` that it was given, as Python itself sets LC_CTYPE in a C locale (PEP 538). refused: filters
of calls that it may not make, beside typing into its own terminal."""

ONLY_BECOME = f"""
import os, sys
_, locale, *argv = sys.argv
refused = ()
{BECOME}"""

LOOK_S = 0.05
STRAY_GRACE_S = 1.0  # between SIGTERM and SIGKILL of what a turn left behind
STRAY_LIMIT_S = 3.0


@cache
def lifeline() -> int:
    """The end of a pipe that closes with this process, which alone holds the other and never
    writes."""
    return os.pipe()[0]


def kept(argv: Sequence[str], env: Mapping[str, str], *, terminal: bool) -> list[str]:
    """The words that run a program below a keeper, which `lifeline()` has to be passed to.

    terminal: its stdin becomes its controlling terminal. Raises OSError without the program: that
    a keeper can't.
    """
    Path(argv[0]).stat()
    words = [PYTHON, "-I", "-S", keeper.__file__, str(lifeline()), str(int(terminal))]
    return [*words, env.get("LC_CTYPE", ""), *argv]


def ask_to_end(root: int, *, enclosed: bool) -> None:
    """Have every process of a tree end: SIGHUP where it has a terminal, and SIGTERM.

    enclosed: the root is bubblewrap. A signal that ended it would leave the others no time, for
    the kernel kills all of a sandbox with it.
    """
    if enclosed:
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
            signal_all(_inside(root, enclosed=True), number)
    else:
        signal_all([root], signal.SIGTERM)


def kill(root: int, *, enclosed: bool) -> None:
    """End every process of a tree at once. A keeper itself ends when none is left."""
    if enclosed:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(root, signal.SIGKILL)
    else:
        signal_all(descendants(root), signal.SIGKILL)


def _inside(root: int, *, enclosed: bool) -> list[int]:
    """The program and all below it: not the sandbox's own first process."""
    return descendants(root)[1:] if enclosed else descendants(root)


# ── What a turn started ─────────────────────────────────────────────────────────────────


async def end_younger(root: int, begin: float, *, enclosed: bool) -> None:
    """End what was started since `begin` (monotonic), but for servers that the program talks to.

    For after a turn that was broken off: some programs leave its commands running.
    """
    if sys.platform != "linux":
        return
    ago_s = time.monotonic() - begin
    since = (time.clock_gettime(time.CLOCK_BOOTTIME) - ago_s) * os.sysconf("SC_CLK_TCK") - 1
    asked_at: dict[int, float] = {}
    while strays := _younger(root, since, enclosed=enclosed):
        now = time.monotonic()
        for pid in strays:
            late = now - asked_at.setdefault(pid, now) >= STRAY_GRACE_S
            if asked_at[pid] == now or late:
                signal_all([pid], signal.SIGKILL if late else signal.SIGTERM)
        if now - min(asked_at.values()) >= STRAY_LIMIT_S:
            return
        await asyncio.sleep(LOOK_S)


def _younger(root: int, since: float, *, enclosed: bool) -> list[int]:
    """The processes that began later; not those below a server, nor those that have ended."""
    found: list[int] = []
    spared: set[int] = set()
    rows = {pid: row for pid in _inside(root, enclosed=enclosed) if (row := read_process(str(pid)))}
    for pid, row in rows.items():  # parents come first
        if row.parent in spared or _is_server(row, rows.get(row.parent), since):
            spared.add(pid)
        elif row.began >= since:
            found.append(pid)
    return found


def _is_server(row: ProcessRow, parent: ProcessRow | None, since: float) -> bool:
    """True when a program that was there before speaks to it over a pipe (MCP, a language server),
    however late it started it."""
    if parent is None or parent.began >= since:
        return False
    try:
        spoken = os.readlink(f"/proc/{row.pid}/fd/0")
        inherited = os.readlink(f"/proc/{parent.pid}/fd/0")
    except OSError:
        return False
    return spoken.startswith(("pipe:", "socket:")) and spoken != inherited
