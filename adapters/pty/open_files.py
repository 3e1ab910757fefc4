"""How many files this process may have open, and how many the programs that it starts.

Some programs go through every number that a file could have, so they get the limit that Moot
itself was started with.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ENOUGH = 65_536  # thousands of connections, and the terminals of hundreds of agents
SPARE = 256  # numbers that must be free below the old limit: others open files meanwhile


class OpenFiles:
    """The limit, which is one for the whole process.

    first: the limit at the start; None: it is still that one.
    """

    def __init__(self) -> None:
        self._first: int | None = None
        self._raised = 0
        self._lowered = 0  # how many blocks want the first limit now

    def raise_limit(self) -> None:
        """Raise the soft limit as far as is allowed and of use."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return
        with suppress(OSError, ValueError):  # macOS has a lower one, which it does not tell
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            self._first, self._raised = soft, wanted

    def most(self) -> int:
        """How many Moot may have open now."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return ENOUGH if soft == resource.RLIM_INFINITY else soft

    @contextmanager
    def at_first(self) -> Iterator[None]:
        """What is started in this block has the first limit, unless Moot itself is near it."""
        if self._first is None or not (self._lowered or _is_free_below(self._first - SPARE)):
            yield
            return
        self._lowered += 1
        _set_soft(self._first)
        try:
            yield
        finally:
            self._lowered -= 1
            if not self._lowered:
                _set_soft(self._raised)


def _is_free_below(number: int) -> bool:
    """True if the next file to be opened would get a lower number."""
    try:
        trial = os.dup(2)
    except OSError:
        return False
    os.close(trial)
    return trial < number


def _set_soft(limit: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


OPEN_FILES = OpenFiles()
"""Of this process."""
