"""An S3 bucket, Amazon's or another one's. The only file that imports obstore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from contract.errors import ConfigError
from gateway.files.store import Fault, failures
from gateway.settings.connections import FilesTable

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

TRY_S = 5.0  # to reach the server, and for trying again
CALL_S = 60.0  # of one request: a part of a file goes over a slow line


class S3Files:
    """Objects below a prefix of a bucket."""

    def __init__(self, store: S3Store) -> None:
        self._store = store

    async def put(self, name: str, data: bytes) -> None:
        with _failures():
            await self._store.put_async(name, data)

    async def get(self, name: str) -> bytes | None:
        with _failures():
            try:
                found = await self._store.get_async(name)
                return bytes(await found.bytes_async())
            except FileNotFoundError:
                return None

    async def delete(self, names: Sequence[str]) -> None:
        if names:
            with _failures():
                await self._store.delete_async(list(names))

    async def list(self, folder: str) -> Sequence[str]:
        with _failures():
            found = self._store.list(f"{folder}/")
            return [str(one["path"]) async for some in found for one in some]


def open_s3(table: FilesTable, key_id: str | None, key: str | None) -> S3Files:
    """The bucket of `[files]`, which isn't reached yet. key_id, key: None: what the machine has of
    its own, as a role. Raises ConfigError."""
    from obstore.store import S3Store

    given: S3Config = {"region": table.region}
    if key_id and key:
        given |= {"access_key_id": key_id, "secret_access_key": key}
    if table.endpoint:
        given["endpoint"] = table.endpoint
    with _mistakes():
        return S3Files(
            S3Store(
                table.bucket,
                prefix=table.prefix or None,
                config=given,
                client_options={
                    "allow_http": True,
                    "connect_timeout": timedelta(seconds=TRY_S),
                    "timeout": timedelta(seconds=CALL_S),
                },
                retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=TRY_S)},
            )
        )


@contextmanager
def _mistakes() -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except BaseError as error:
        raise ConfigError(f"[files]: {_first_line(error)}") from error


@contextmanager
def _failures() -> Iterator[None]:
    from obstore.exceptions import BaseError

    with failures(BaseError, OSError, told=_told):
        yield


def _told(error: Exception) -> tuple[str, Fault]:
    """The first line, and which fault it is."""
    from obstore.exceptions import NotFoundError, PermissionDeniedError, UnauthenticatedError

    line = _first_line(error)
    if isinstance(error, (PermissionError, PermissionDeniedError, UnauthenticatedError)):
        return line, "refused"
    if isinstance(error, (FileNotFoundError, NotFoundError)) or " 404 " in line:
        return line, "missing"
    return line, "away" if "error sending request" in line else "other"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
