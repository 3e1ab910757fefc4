"""A store that several machines reach: bytes by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol

from contract.errors import MootError

Fault = Literal["away", "missing", "refused", "other"]
"""away: it can't be reached. missing: there is no such store. refused: it doesn't let one in."""


class FileStoreFailed(MootError):
    """The store can't be reached, or refuses."""

    def __init__(self, reason: str, fault: Fault = "other") -> None:
        super().__init__(reason)
        self.fault = fault


class FileStore(Protocol):
    """Its methods raise FileStoreFailed."""

    async def put(self, name: str, data: bytes) -> None:
        """Keep it; what was there by that name is gone."""

    async def get(self, name: str) -> bytes | None:
        """The bytes; None: there is nothing by that name."""

    async def delete(self, names: Sequence[str]) -> None:
        """Forget them; no error for what is not there."""

    async def list(self, folder: str) -> Sequence[str]:
        """The names that begin with this folder's."""


@contextmanager
def failures(
    *errors: type[Exception], told: Callable[[Exception], tuple[str, Fault]]
) -> Iterator[None]:
    """Raises FileStoreFailed for these errors of whoever keeps the bytes. told: what is wrong."""
    try:
        yield
    except errors as error:
        raise FileStoreFailed(*told(error)) from error
