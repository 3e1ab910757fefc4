"""Signals to a program and all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def send(pid: int, number: signal.Signals, *, enclosed: bool) -> None:
    """Signal a process group by its leader's id.

    enclosed: the leader is bubblewrap, and a signal that ended it would leave its program no time:
    the kernel kills all of a sandbox with it. So only SIGKILL goes there, others to the program.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: EPERM of zombies
        if enclosed and number != signal.SIGKILL:
            for child in _inmates(pid):  # a session of its own
                os.killpg(os.getpgid(child), number)
        else:
            os.killpg(pid, number)


def _inmates(pid: int) -> list[int]:
    """Those below the sandbox's own first process."""
    return [inmate for first in _children(pid) for inmate in _children(first)]


def _children(pid: int) -> list[int]:
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(word) for word in words]
