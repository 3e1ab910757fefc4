"""How Moot listens: by which names its page is reached, and how many connections it takes."""

from __future__ import annotations

from adapters.pty.open_files import OPEN_FILES
from gateway.settings.config import Config
from gateway.web.forwarded import Proxies
from gateway.web.listening.connection import ConnectionLimits
from gateway.web.page_address import PageAuth


def page_auth(config: Config) -> PageAuth:
    """By which names the page is reached."""
    gateway = config.gateway
    return PageAuth(gateway.host, gateway.public_url or "", gateway.hosts, proxies_of(config))


LOOPBACK = ("127.0.0.1", "::1")


def proxies_of(config: Config) -> Proxies:
    """Those that are named; else whatever is on this machine, where there is one at all."""
    named = config.connections.trusted_proxies
    if named is None:
        named = frozenset(LOOPBACK if config.gateway.public_url else ())
    return Proxies.of(named)


KEPT_FILES = 256  # for the database, the bots, and a few agents
LISTENERS = 3  # the page's, that of webhooks, and that of the agents' hooks


def connection_limits(config: Config) -> ConnectionLimits:
    """How many connections a listener takes: no more than there may be open files."""
    table = config.connections
    files = (OPEN_FILES.most() - KEPT_FILES) // LISTENERS
    return ConnectionLimits(
        most=max(16, min(table.most, files)),
        of_peer=table.most_of_address,
        of_person=table.most_of_person,
        head_s=table.header_s,
        body_s=table.body_s,
        idle_s=table.idle_s,
        proxies=proxies_of(config),
    )
