"""A proxy on a socket, for a sandbox without a network: it connects to the hosts that it is told.

It speaks as HTTP proxies do (RFC 9110, 7.6 and 9.3.6): `CONNECT host:port`, or a request whose
target is a whole `http://` address. Everything else is refused with 403.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import re
import shutil
import socket
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import structlog

from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.sandbox")

HEAD_BYTES = 65_536
HEAD_S = 30.0  # for a caller to say where it wants to go
CONNECT_S = 30.0
PIECE_BYTES = 65_536
CALLS = 128  # at a time: a connection costs Moot two file descriptors
REFUSALS = 50  # hosts that are told of in the log, of one session
OWN = ("proxy-", "connection:", "keep-alive:", "host:")  # headers that are for us, or are ours
HTTP_PORT, HTTPS_PORT = 80, 443

LOOPBACK = "127.0.0.1"
# Where clouds tell their machines secrets, and that is not link-local.
METADATA = frozenset({"fd00:ec2::254", "100.100.100.200", "168.63.129.16"})
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_REQUEST = re.compile(r"[A-Z]+ [\x21-\x7e]+ HTTP/1\.[01]")

Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Allowed:
    """A host, or all those below it where it begins with `*.`, and its port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Allowed:
        """`api.example.org`, `*.example.org`, `localhost:8080`."""
        host, colon, port = text.rpartition(":")
        return cls(_plain(host), int(port)) if colon else cls(_plain(text), HTTPS_PORT)

    @classmethod
    def of_url(cls, url: str) -> Allowed | None:
        """The host of an address on the web; None: it is none."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return None
        usual = {"http": HTTP_PORT, "https": HTTPS_PORT}.get(parts.scheme)
        return cls(_plain(parts.hostname), port or usual) if parts.hostname and usual else None

    def covers(self, target: Endpoint) -> bool:
        """True if it is that host and port."""
        host, port = target
        below = self.host.startswith("*.") and host.endswith(self.host[1:])
        return port == self.port and (host == self.host or below)

    @property
    def loopback(self) -> bool:
        """True if it is this machine, where programs use no proxy."""
        return self.host == LOOPBACK


@dataclass(slots=True)
class Relay:
    """One session's. allowed: where it may go. upstream: the proxy that Moot itself has to use for
    what is not on this machine. Who opens it closes it."""

    allowed: frozenset[Allowed]
    upstream: str = ""
    socket: Path = Path()
    _server: asyncio.Server | None = None
    _calls: set[asyncio.Task[None]] = field(default_factory=set)
    _refused: set[Endpoint] = field(default_factory=set)

    @classmethod
    async def open(cls, allowed: Iterable[Allowed], upstream: str = "") -> Relay:
        """Listen on a socket in a folder that is for this account only. Raises OSError."""
        # a socket's path has 107 bytes at most, fewer than a scope's folder takes
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="moot-relay-"))
        relay = cls(frozenset(allowed), upstream, folder / "socket")
        try:
            relay._server = await asyncio.start_unix_server(
                relay._serve, relay.socket, limit=HEAD_BYTES
            )
        except BaseException:
            shutil.rmtree(folder)
            raise
        return relay

    @property
    def ports(self) -> tuple[int, ...]:
        """Those of this machine that it leads to."""
        return tuple(sorted({one.port for one in self.allowed if one.loopback}))

    async def close(self) -> None:
        """Cut off what goes through it."""
        assert self._server
        self._server.close()
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)
        await asyncio.to_thread(shutil.rmtree, self.socket.parent, ignore_errors=True)

    # ── One call ────────────────────────────────────────────────────────────────────────

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._calls.add(task)
        try:
            if len(self._calls) <= CALLS:
                await self._call(reader, writer)
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            pass  # the caller, or the host, went away in mid-sentence
        except asyncio.CancelledError:
            if self._server and self._server.is_serving():
                raise
        finally:
            self._calls.discard(task)
            writer.close()

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                return
        first, *headers = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        if not _REQUEST.fullmatch(first) or not all(map(_HEADER.fullmatch, headers)):
            await _answer(writer, "400 Bad Request", "This is no request of HTTP/1.1.\n")
            return  # another reader could find a second request in it
        method, address, version = first.split(" ")
        target = _target(method, address)
        if target is None or not any(one.covers(target) for one in self.allowed):
            self._note(target)
            await _answer(writer, "403 Forbidden", _refusal(target))
            return
        try:
            async with asyncio.timeout(CONNECT_S):
                there, out = await self._connect(target)
        except _LedIn as error:
            self._note((str(error), target[1]))
            await _answer(writer, "403 Forbidden", _led_in(target, str(error)))
            return
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError) as error:
            log.info("sandbox.host_failed", host=target[0], port=target[1], error=str(error))
            await _answer(writer, "502 Bad Gateway", f"{target[0]} can't be reached: {error}\n")
            return
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                out.write(_own_form(method, address, version, headers).encode("latin-1"))
            await _carry((reader, out), (there, writer))
        finally:
            out.close()

    async def _connect(self, target: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = target
        if not self.upstream or Allowed(host, port).loopback:
            return await asyncio.open_connection(await self._address(target), port)
        proxy = urlsplit(self.upstream if "://" in self.upstream else f"http://{self.upstream}")
        there, out = await asyncio.open_connection(
            proxy.hostname, proxy.port or HTTP_PORT, ssl=proxy.scheme == "https" or None
        )
        lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
        if proxy.username:
            who = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(who.encode()).decode()}")
        out.write("\r\n".join((*lines, "", "")).encode())
        said = await there.readuntil(b"\r\n\r\n")
        if said.split(b" ", 2)[1] != b"200":
            out.close()
            raise ConnectionError(f"the proxy refuses: {said[:80]!r}")
        return there, out

    async def _address(self, target: Endpoint) -> str:
        """The first address of a host. Raises OSError; _LedIn where it leads to this machine or to
        what is told to it alone: whoever answers for a name may say what they like."""
        found = await asyncio.get_running_loop().getaddrinfo(*target, type=socket.SOCK_STREAM)
        addresses = [str(address[0]) for *_, address in found]
        for address in addresses:
            if _is_inward(address) and not any(
                one.covers((_plain(address), target[1])) for one in self.allowed
            ):
                raise _LedIn(address)
        return addresses[0]

    def _note(self, target: Endpoint | None) -> None:
        """Log it once a host: an agent may try many, and often."""
        if target is None or target in self._refused or len(self._refused) >= REFUSALS:
            return
        self._refused.add(target)
        log.warning("sandbox.host_refused", host=target[0][:253], port=target[1])


def _target(method: str, address: str) -> Endpoint | None:
    """The host and port that a request is for; None: it names none."""
    try:
        parts = urlsplit(f"//{address}" if method == "CONNECT" else address)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.username or parts.password:
        return None
    if method == "CONNECT":
        return (_plain(parts.hostname), port) if port and not parts.path else None
    return (_plain(parts.hostname), port or HTTP_PORT) if parts.scheme == "http" else None


def _plain(host: str) -> str:
    """A host's name in one form; this machine's by one name."""
    plain = host.lower().rstrip(".")
    return LOOPBACK if plain in ("localhost", "::1") else plain


class _LedIn(Exception):
    """A name stands for an address that it may not."""


def _is_inward(address: str) -> bool:
    """True for loopback, link-local, and where clouds tell machines their secrets."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    inward = found.is_loopback or found.is_link_local or found.is_unspecified
    return inward or found.is_multicast or str(found) in METADATA


def _own_form(method: str, address: str, version: str, headers: Sequence[str]) -> str:
    """The request as the host itself expects it; the connection serves no other."""
    parts = urlsplit(address)
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    kept = [line for line in headers if not line.lower().startswith(OWN)]
    host = f"Host: {parts.netloc}"  # the one that is allowed, whatever the caller wrote
    return "\r\n".join((f"{method} {path} {version}", host, *kept, "Connection: close", "", ""))


def _refusal(target: Endpoint | None) -> str:
    where = f"{target[0]}:{target[1]}" if target else "This address"
    return f"{where} is not among the hosts of this sandbox; an administrator may add it.\n"


def _led_in(target: Endpoint, address: str) -> str:
    return (
        f"{target[0]} leads to {address}, which no name may; an administrator may add "
        f"{address}:{target[1]}.\n"
    )


async def _answer(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    body = text.encode("utf-8", "replace")
    writer.write(
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        + body
    )
    await writer.drain()


Way = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _carry(*ways: Way) -> None:
    """Carry both directions until both ends have said all, or one is gone."""
    try:
        async with asyncio.TaskGroup() as group:
            for source, target in ways:
                group.create_task(_pump(source, target), name="relay")
    except* OSError:
        pass


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while piece := await source.read(PIECE_BYTES):
        target.write(piece)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
