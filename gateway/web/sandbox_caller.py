"""Recognises callers on this machine that run in a sandbox, which shares its loopback.

Without a token the page trusts whoever is on this machine; an agent in a sandbox must not be, or it
could read everybody's rooms there.
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil

Address = tuple[str, int]


def is_sandbox_caller(caller: Address, ours: Address) -> bool:
    """True if the other end of a loopback connection is held by a process in another pid namespace,
    or by nobody any more. Reads /proc: off the loop.

    A process of another account can't be looked at, and is none of ours.
    """
    if not Path("/proc/self/ns/pid").exists():
        return False  # no Linux, no sandbox
    for connection in psutil.net_connections("tcp"):
        if (connection.laddr, connection.raddr) == (caller, ours):
            if connection.pid is not None:
                return _is_elsewhere(connection.pid)
            return _account_of(caller, ours) in (None, os.getuid())
    return True


def _is_elsewhere(pid: int) -> bool:
    try:
        theirs = Path(f"/proc/{pid}/ns/pid").readlink()
    except OSError:  # it ended meanwhile
        return True
    return theirs != Path("/proc/self/ns/pid").readlink()


def _account_of(caller: Address, ours: Address) -> int | None:
    """The user id that a connection belongs to, from the kernel's table."""
    for name in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]:
            fields = row.split()
            ports = tuple(int(field.rpartition(":")[2], 16) for field in fields[1:3])
            if ports == (caller[1], ours[1]):
                return int(fields[7])
    return None
