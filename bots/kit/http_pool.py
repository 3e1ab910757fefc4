"""One pool of HTTP connections an account, and aiohttp's failures as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from contract.errors import PlatformError
from contract.language import later
from contract.refusals import why

# A connection that isn't there after this time was never made: nothing was sent.
CONNECT_S = 5.0


class HttpPool:
    """Connections that open at the first call, and again at a call after `close`."""

    def __init__(self, connect_s: float = CONNECT_S) -> None:
        self._connect_s = connect_s
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """The open pool, for `request` and `ws_connect`."""
        if self._session is None or self._session.closed:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s)
            self._session = aiohttp.ClientSession(timeout=timeout)
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        self._session = None


@contextmanager
def call_errors(server: str, what: str) -> Iterator[None]:
    """A call whose failures become PlatformError: "retry" where nothing was sent, else "unknown".

    server: its name at the beginning of a sentence. what: the call, for the log.
    """
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise unreachable(server, error) from error
    except (aiohttp.ClientError, OSError) as error:
        raise PlatformError(f"{what}: {reason_of(error)}", outcome="unknown") from error


@contextmanager
def file_errors(what: str = "a file can't be read") -> Iterator[None]:
    """Bytes on their way whose failures become PlatformError "retry": nobody has seen them yet."""
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        raise PlatformError(f"{what}: {type(error).__name__}", outcome="retry") from error


def reason_of(error: Exception) -> str:
    """A failure in a few words that name no address."""
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__


def unreachable(server: str, error: OSError) -> PlatformError:
    """The error about a server to which there is no connection. server: begins the sentence."""
    return PlatformError(f"{server} can't be reached: {why(error)}", outcome="retry")


def too_large(max_bytes: int) -> PlatformError:
    """The error about a file of more than so many bytes."""
    say = later("it is larger than {file_mb} MB", file_mb=f"{max_bytes / 1_000_000:g}")
    return PlatformError("it is too large", outcome="refused", say=say)


async def read_file(answer: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes, str]:
    """A file's bytes and MIME type. Raises PlatformError where there is none, or a larger one."""
    if answer.status != 200:
        raise PlatformError(f"a file: HTTP {answer.status}", outcome="refused")
    return await read(answer.content, max_bytes), answer.content_type


async def read(content: aiohttp.StreamReader, max_bytes: int) -> bytes:
    """The bytes of an answer. Raises PlatformError when there are more."""
    data = bytearray()
    async for chunk in content.iter_chunked(65_536):
        data += chunk
        if len(data) > max_bytes:
            raise too_large(max_bytes)
    return bytes(data)
