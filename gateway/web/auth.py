"""Access to the page: this machine, or whoever has the token; no other web site.

The page listens on loopback. A browser on this machine also runs other people's web sites, so
loopback alone is no proof: the Host header must be ours (a foreign name that resolves to
127.0.0.1 is DNS rebinding), and a call that another origin started is refused.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from aiohttp import web

from contract.errors import ConfigError

COOKIE = "moot"
OPEN_PATHS = frozenset({"/healthz", "/static/signin.css", "/static/mark.svg"})
"""For a probe, and for the form that asks for the token."""
COOKIE_S = 30 * 24 * 3600

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RequestRefused(Exception):
    """A request that is turned away: the HTTP status, and a sentence with the remedy."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class PageAuth:
    """The rules of who may come in. hosts: names besides loopback's at which the page is."""

    token: str | None = None
    hosts: tuple[str, ...] = ()

    def check(self, listen_host: str) -> None:
        """Raise ConfigError when this would let anybody in."""
        if self.token:
            return
        remedy = "set a token for the page, or use 127.0.0.1"
        if not is_loopback(listen_host):
            raise ConfigError(f"the page would listen on {listen_host} without a token: {remedy}")
        for host in self.hosts:
            if not is_loopback(host):
                raise ConfigError(f"the page would answer as {host} without a token: {remedy}")

    def knows(self, host: str) -> bool:
        """True if a Host header's name is ours. An address cannot be rebound by DNS."""
        named = host.lower() in {name.lower() for name in self.hosts}
        return named or is_loopback(host) or (self.token is not None and _address(host) is not None)

    def cookie(self) -> str:
        """The cookie's value: proves the token and does not tell it."""
        assert self.token is not None
        return hmac.new(self.token.encode(), b"moot page cookie", hashlib.sha256).hexdigest()

    def proves(self, token: str) -> bool:
        """True if this is the token."""
        return self.token is not None and _same(token, self.token)


def is_loopback(host: str) -> bool:
    """True if a name or address means this machine, by itself and not by DNS."""
    bare = host.strip("[]").lower().rstrip(".")
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    address = _address(bare)
    return address is not None and (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_local(request: web.Request) -> bool:
    """True if the caller is on this machine and came by no other name."""
    return is_loopback(request.remote or "") and is_loopback(host_name(request))


def host_name(request: web.Request) -> str:
    """The Host header without its port; "" when there is none or it makes no sense."""
    try:
        return urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
    except ValueError:
        return ""


def check_request(request: web.Request, access: PageAuth) -> None:
    """Raise Refused unless this request may go on."""
    if not access.knows(host_name(request)):
        raise RequestRefused(421, "this host name is not mine: add it to the page's hosts")
    if not access.token and not is_loopback(request.remote or ""):
        raise RequestRefused(403, "only this machine may come in: set a token for the page")
    _refuse_other_sites(request, access)
    if access.token and request.path not in OPEN_PATHS and not _has_token(request, access):
        raise RequestRefused(
            401, "a token is needed: send it as Authorization: Bearer, or open /?token="
        )


def _refuse_other_sites(request: web.Request, access: PageAuth) -> None:
    """Browsers say who started a request; programs say nothing and pass."""
    reads = request.method in ("GET", "HEAD")
    site = request.headers.get("Sec-Fetch-Site", "none")
    visit = reads and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in ("same-origin", "none") and not visit:
        raise RequestRefused(403, "another web site started this request")
    origin = request.headers.get("Origin")
    if origin is not None and not _is_ours(origin, request.headers.get("Host", ""), access):
        raise RequestRefused(403, "another web site started this request")


def _is_ours(origin: str, host: str, access: PageAuth) -> bool:
    """The page's own origin, also when a proxy before it changed the Host header."""
    scheme, _, rest = origin.lower().partition("://")
    named = rest.partition(":")[0] in {name.lower() for name in access.hosts}
    return scheme in ("http", "https") and (named or rest == host.lower())


def _has_token(request: web.Request, access: PageAuth) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and access.proves(given.strip()):
        return True
    if request.path == "/" and access.proves(request.query.get("token", "")):
        return True
    return _same(request.cookies.get(COOKIE, ""), access.cookie())


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())
