"""From which address a request came, and over which scheme: its own, or what a proxy that is
trusted says of it. The lock-out, sessions, the audit log, cookies and the caps on connections all
ask here.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from aiohttp import web

from contract.values import dataclass

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies whose word is taken for who calls (X-Forwarded-For) and for TLS
    (X-Forwarded-Proto). From anybody else these headers mean nothing."""

    trusted: frozenset[Address] = frozenset()

    @classmethod
    def of(cls, addresses: Iterable[str]) -> Proxies:
        """Those at these addresses."""
        return cls(frozenset(found for one in addresses if (found := read_address(one))))

    def origin(self, sender: Address | None, request: web.BaseRequest) -> Address | None:
        """Who calls: the sender, or whom a proxy among them names as the last that is none of
        them; a word that is no address ends what is believed."""
        told = ",".join(request.headers.getall("X-Forwarded-For", ())).split(",")
        while sender in self.trusted and told:
            named = read_address(told.pop())
            if named is None:
                break
            sender = named
        return sender

    def address(self, request: web.BaseRequest) -> str:
        """The same as text; "": nobody can tell."""
        return str(self.origin(read_address(request.remote or ""), request) or "")

    def is_tls(self, request: web.BaseRequest) -> bool:
        """True if the browser came by TLS: to us, or to a proxy."""
        told = request.headers.get("X-Forwarded-Proto", "").lower()
        proxied = told == "https" and read_address(request.remote or "") in self.trusted
        return request.secure or proxied


def read_address(text: str) -> Address | None:
    """An address; an IPv4 one that came as IPv6 is IPv4 again. None: it is none."""
    try:
        address = ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def peer_of(address: Address | None) -> str:
    """The name under which somebody is counted: IPv6 gives each caller a /64."""
    if isinstance(address, IPv6Address) and not address.is_loopback:
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address or "")
