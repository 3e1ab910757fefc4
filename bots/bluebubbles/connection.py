"""The webhook: a path with a secret in it, and its entry in the server's list.

The server signs nothing and tries once: the secret is the only proof, and what was missed is read
from the history.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web
from yarl import URL

from bots.bluebubbles.api import BlueBubblesApi, BlueBubblesRefused
from bots.bluebubbles.wire import WireWebhook
from bots.kit.files import write
from bots.kit.wire import readable
from contract.errors import ConfigError, MootError

log = structlog.stdlib.get_logger("moot.bots")


EVENTS = ("new-message", "updated-message", "group-name-change")
# A message with everything around it takes a few thousand bytes; its files don't travel here.
_MOST_BODY_BYTES = 1_000_000
_JSON: Mapping[str, str] = {"Cache-Control": "no-store"}

Take = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes one payload; returns when it is on disk. Raises ValueError when it can't be read."""

SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
"""The characters that may stand in an address unescaped, and can't be guessed."""


class Webhook:
    """take: told every payload that proves to be the server's. missed: called when one was lost."""

    def __init__(self, bot: str, take: Take, missed: Callable[[], None]) -> None:
        self._bot, self._take, self._missed = bot, take, missed
        self._secret = ""
        self.registered: str | None = None  # the address that the server has from us
        self.folder = f"/bluebubbles/{re.sub(r'[^A-Za-z0-9_-]', '-', bot)}/"

    def routes(self) -> list[web.RouteDef]:
        return [web.post(self.folder + "{secret}", self._handle)]

    def open(self, secret: str) -> None:
        """Let in whoever has the secret; nobody came in before."""
        self._secret = secret

    def url(self, base: str) -> str:
        """The address at which the server finds us, as it reaches `base`."""
        return base.rstrip("/") + self.folder + self._secret

    def shown(self, base: str) -> str:
        """The same, for people who read a log."""
        return f"{base.rstrip('/')}{self.folder}<secret>"

    async def _handle(self, request: web.Request) -> web.Response:
        given = request.match_info["secret"].encode(errors="replace")
        if not self._secret or not hmac.compare_digest(given, self._secret.encode()):
            return _answer(404, "there is nothing here")
        body = await _body(request)
        if body is None:
            log.warning("webhook.refused", bot=self._bot, reason="its body is too large")
            self._missed()
            return _answer(413, "the body is too large")
        try:
            payload = json.loads(body)
            if not isinstance(payload, dict):
                raise ValueError("it is no object")
        except (ValueError, RecursionError) as error:
            log.warning("webhook.refused", bot=self._bot, reason=f"no JSON: {type(error).__name__}")
            return _answer(400, "the body is no JSON object")
        return await self._taken(payload)

    async def _taken(self, payload: Mapping[str, Any]) -> web.Response:
        taken = False
        try:
            await self._take(payload)
            taken = True
        except ValueError as error:
            log.warning("webhook.failed", bot=self._bot, reason=error)
            return _answer(400, "the body is no event of BlueBubbles")
        except MootError as error:
            log.warning("webhook.waiting", bot=self._bot, reason=error)
            return _answer(503, "not now")
        finally:
            if not taken:
                self._missed()
        return _answer(200, "")

    # ── The server's list ───────────────────────────────────────────────────────────────

    async def register(self, api: BlueBubblesApi, url: str, earlier: tuple[str, ...]) -> None:
        """Put our address on the list, and take earlier ones of ours off. Raises PlatformError.

        earlier: addresses that we have registered before. A server that shows no list is told once.
        """
        found, hooks = False, await listed(api)
        for hook in hooks or ():
            if hook.url == url and not found and _tells_enough(hook):
                found = True
            elif hook.url == url or hook.url in earlier or self._is_stale(hook.url, url):
                await api.delete(f"webhook/{hook.id}")
        is_told = found or (hooks is None and self.registered == url)
        if not is_told:
            self.registered = None
            await api.send("webhook", {"url": url, "events": list(EVENTS)})
            log.info("webhook.registered", bot=self._bot)
        self.registered = url

    def _is_stale(self, other: str, url: str) -> bool:
        """True if an address is ours with another secret."""
        folder = url[: len(url) - len(self._secret)]
        return other.startswith(folder) and "/" not in other[len(folder) :]


async def listed(api: BlueBubblesApi) -> list[WireWebhook] | None:
    """The server's webhooks; None where it has no such list. Raises PlatformError."""
    try:
        found = await api.get("webhook")
    except BlueBubblesRefused as error:
        if error.status not in (404, 405):
            raise
        return None
    return readable(WireWebhook, found)


def _tells_enough(hook: WireWebhook) -> bool:
    return "*" in hook.event_names or hook.event_names >= set(EVENTS)


async def _body(request: web.Request) -> bytes | None:
    """The body, or None when it is too large."""
    if (request.content_length or 0) > _MOST_BODY_BYTES:
        return None
    data = bytearray()
    async for chunk in request.content.iter_chunked(65_536):
        data += chunk
        if len(data) > _MOST_BODY_BYTES:
            return None
    return bytes(data)


def _answer(status: int, error: str) -> web.Response:
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


# ── The secret ──────────────────────────────────────────────────────────────────────────


def kept_secret(folder: Path) -> str:
    """The webhook's secret; made when there is none. Raises ConfigError, OSError.

    Blocks its thread.
    """
    path = folder / "webhook_secret"
    if path.exists():
        secret = path.read_text(encoding="ascii", errors="replace").strip()
        if not SECRET.fullmatch(secret):
            raise ConfigError(f"{path} holds no secret: delete it, and a new one is made")
        return secret
    secret = secrets.token_urlsafe(32)
    write(path, secret.encode())
    return secret
