"""A store that several machines reach: bytes by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from contract.errors import MootError


class FileStoreFailed(MootError):
    """The store can't be reached, or refuses."""


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
def failures(*errors: type[Exception], says: str = "") -> Iterator[None]:
    """Raises FileStoreFailed for these errors of whoever keeps the bytes. says: what is wrong then;
    "": the error's first line does."""
    try:
        yield
    except errors as error:
        raise FileStoreFailed(says or first_line(error)) from error


def first_line(error: Exception) -> str:
    """Of its text; else its kind."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
