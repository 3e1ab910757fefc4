"""How long a caller waits for a database that is away, told where its work begins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Patience = Literal["none", "some", "all"]
"""none: it is told at once, for somebody else tries again. some: it waits for `[store] patience_s`.
all: it waits as long as it takes, for what it has must not be lost."""

_PATIENCE: ContextVar[Patience] = ContextVar("patience", default="none")


@contextmanager
def waiting(patience: Patience) -> Iterator[None]:
    """Whatever is read or written in the block waits so long, in tasks that begin there as well."""
    token = _PATIENCE.set(patience)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


def patience() -> Patience:
    """The patience of whoever asks."""
    return _PATIENCE.get()


def wait_s(how: Patience, some_s: float) -> float:
    """The same in seconds. some_s: `[store] patience_s`."""
    return {"none": 0.0, "some": some_s, "all": math.inf}[how]
