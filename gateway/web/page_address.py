"""By which names and addresses the page is reached."""

from __future__ import annotations

from dataclasses import field
from urllib.parse import urlsplit

from aiohttp import web

from contract.values import dataclass
from gateway.web.forwarded import Proxies, read_address


@dataclass(frozen=True, slots=True)
class PageAuth:
    """By which names the page is reached. listen: the address that it listens on. public_url: its
    address for people, behind a proxy; "": they use the one that it listens on. hosts: further
    names. proxies: whose word is taken for who calls.
    """

    listen: str = "127.0.0.1"
    public_url: str = ""
    hosts: tuple[str, ...] = ()
    proxies: Proxies = field(default_factory=Proxies)

    @property
    def names(self) -> frozenset[str]:
        """Every name beside loopback's, in lower case."""
        public = urlsplit(self.public_url).hostname
        return frozenset(name.lower() for name in (*self.hosts, *([public] if public else [])))

    @property
    def is_beyond(self) -> bool:
        """True if others than this machine may reach it."""
        return not is_loopback(self.listen) or not all(map(is_loopback, self.names))

    def knows(self, host: str) -> bool:
        """True if a Host header's name is ours. An address cannot be rebound by DNS."""
        if host.lower() in self.names or is_loopback(host):
            return True
        return not is_loopback(self.listen) and read_address(host) is not None

    def is_secure(self, request: web.Request) -> bool:
        """True if the browser came by TLS: here, or at a proxy."""
        public = urlsplit(self.public_url)
        named = public.scheme == "https" and host_name(request).lower() == public.hostname
        return named or self.proxies.is_tls(request)

    def url(self, request: web.Request) -> str:
        """The page's address for people, without a path."""
        public = urlsplit(self.public_url)
        if public.hostname:
            return f"{public.scheme}://{public.netloc}"
        return f"{'https' if self.is_secure(request) else 'http'}://{request.host}"


def is_loopback(host: str) -> bool:
    """True if a name or address means this machine, by itself and not by DNS."""
    bare = host.strip("[]").lower().rstrip(".")
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    address = read_address(bare)
    return address is not None and address.is_loopback


def is_local(request: web.Request) -> bool:
    """True if the caller is on this machine and came by no other name and no proxy."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    return is_loopback(request.remote or "") and is_loopback(host_name(request))


def host_name(request: web.Request) -> str:
    """The Host header without its port; "" when there is none or it makes no sense."""
    try:
        return urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
    except ValueError:
        return ""
