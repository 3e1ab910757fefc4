"""A webhook: a path with a secret in it, which is the only proof of who calls.

For servers that sign nothing, or nothing that we can check.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
from collections.abc import Mapping
from ipaddress import ip_address
from typing import ClassVar

import structlog
from aiohttp import web
from yarl import URL

from bots.kit.platform_bot import BotSetup
from contract.errors import ConfigError, MootError

log = structlog.stdlib.get_logger("moot.bots")

# A message with everything around it takes a few thousand bytes; its files don't travel here.
_MOST_BODY_BYTES = 1_000_000
_JSON: Mapping[str, str] = {"Cache-Control": "no-store"}

KEPT = "webhook_secret"
"""The name under which the secret is kept."""

SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
"""The characters that may stand in an address unescaped, and can't be guessed."""


class SecretPath:
    """The base of a platform's webhook: nobody gets in without the secret.

    platform: its name to people. secret: None: one is made at the first start, and kept. Raises
    ConfigError when it can't stand in an address.
    """

    platform: ClassVar[str]

    def __init__(self, setup: BotSetup, secret: str | None) -> None:
        name = self.platform.lower()
        if secret is not None and not SECRET.fullmatch(secret):
            raise ConfigError(
                f"{self.platform} bot {setup.name!r}: {name.upper()}_SECRET must be 16 to 128 "
                "letters, digits, _ or -: it stands in an address"
            )
        self._setup, self._given, self._bot = setup, secret, setup.name
        self._secret = ""
        self.folder = f"/{name}/{re.sub(r'[^A-Za-z0-9_-]', '-', setup.name)}/"

    def routes(self) -> list[web.RouteDef]:
        return [web.post(self.folder + "{secret}", self._enter)]

    async def open(self) -> None:
        """Let in whoever has the secret; nobody came in before. Raises MootError, OSError."""
        if self._given is None:
            self._given = await self._kept()
            self._setup.secret_found(self._given)
        self._secret = self._given

    async def _kept(self) -> str:
        """The secret that is kept; made when there is none."""
        kept = self._setup.secrets
        if (found := await kept.read(KEPT)) is None:
            made = secrets.token_urlsafe(32)
            await kept.write(KEPT, made)
            return made
        if not SECRET.fullmatch(found.strip()):
            raise ConfigError(
                f"{self.platform} bot {self._bot!r}: its {KEPT} is no secret: delete it, and a new "
                "one is made"
            )
        return found.strip()

    def url(self, base: str) -> str:
        """The address at which the server finds us, as it reaches `base`."""
        return base.rstrip("/") + self.folder + self._secret

    def shown(self, base: str) -> str:
        """The same, for people who read a log."""
        return f"{base.rstrip('/')}{self.folder}<secret>"

    async def _enter(self, request: web.Request) -> web.Response:
        given = request.match_info["secret"].encode(errors="replace")
        if not self._secret or not hmac.compare_digest(given, self._secret.encode()):
            return answer(404, "there is nothing here")
        return await self.handle(request)

    async def handle(self, request: web.Request) -> web.Response:
        """Answer who has the secret: 200 means that the payload was taken."""
        if (body := await _body_of(request)) is None:
            log.warning("webhook.refused", bot=self._bot, reason="its body is too large")
            return answer(413, "the body is too large")
        try:
            await self.take(request.content_type, body)
        except ValueError as error:
            log.warning("webhook.failed", bot=self._bot, reason=error)
            return answer(400, f"the body is no event of {self.platform}")
        except MootError as error:
            log.warning("webhook.waiting", bot=self._bot, reason=error)
            return answer(503, "not now")
        return answer(200, "")

    async def take(self, mime: str, body: bytes) -> None:
        """Hand a payload on; return when it is on disk. Raises ValueError when it can't be read."""
        raise NotImplementedError


async def _body_of(request: web.Request) -> bytes | None:
    """The body, or None when it is too large."""
    if (request.content_length or 0) > _MOST_BODY_BYTES:
        return None
    data = bytearray()
    async for chunk in request.content.iter_chunked(65_536):
        data += chunk
        if len(data) > _MOST_BODY_BYTES:
            return None
    return bytes(data)


def answer(status: int, error: str) -> web.Response:
    body = {"error": error} if error else {"ok": True}
    return web.json_response(body, status=status, headers=_JSON)


# ── Our own address ─────────────────────────────────────────────────────────────────────


def address(listen_host: str, listen_port: int, server: URL) -> str | None:
    """Our address as the server reaches it, when it isn't told; None when there is no port yet.

    Who listens everywhere is reached at the address from which this machine talks to the server.
    """
    if not listen_port:
        return None
    host = listen_host.strip("[]")
    if _is_everywhere(host):
        host = _address_towards(server.host or "127.0.0.1", server.port or 80)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listen_port}"


def is_out_of_reach(url: str, server: URL) -> bool:
    """True if the server, on another machine, is given an address of this one alone."""
    return _is_loopback(URL(url).host or "") and not _is_loopback(server.host or "")


def _is_everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _address_towards(host: str, port: int) -> str:
    """The address that this machine has on the way to a host. Sends nothing; may ask the DNS."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        family, kind, proto, _, target = found[0]
        with socket.socket(family, kind, proto) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"
