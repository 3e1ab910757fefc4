"""How a deaf worker holds still: its programs are stopped where they stand, and go on or are ended.

The gateway gives a silent worker up after `lost_s`, and another one begins; what that one repeats
may overlap with what is still done here for a second at most.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from adapters.pty.process_table import ProcessTable, ProcessTree

STOP_S = 2.5  # without a reply to a beat
END_S = 10.0


def stop(pids: Iterable[int]) -> None:
    """Stop all that these programs consist of. Reads /proc: off the loop."""
    _signal(pids, signal.SIGSTOP)


def go_on(pids: Iterable[int]) -> None:
    """Let it go on."""
    _signal(pids, signal.SIGCONT)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    table = ProcessTable.read()
    for root in pids:
        for row in ProcessTree(root).among(table):
            if row.pid != root:  # which keeps the others, and ends them when it is told to
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(row.pid, number)
