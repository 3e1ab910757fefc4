"""Checks of the machine: its clock, its time zone, the page's port."""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import socket
from datetime import datetime
from email.utils import parsedate_to_datetime

import aiohttp

from gateway.cli.diagnosis.finding import Finding, Installation
from gateway.settings.tables import GatewayTable
from gateway.web.listening.address import PAGE, listening_fault

SKEW_S = 30.0  # Rocket.Chat refuses a message 60 s off, Slack a signature 300 s
ASKED_S = 5.0


async def check_machine(of: Installation) -> list[Finding]:
    """The line that a bug report needs first."""
    python = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    zone = of.config.gateway.timezone
    return [Finding("✓", "machine", f"{python}, {os.cpu_count()} processors; time zone {zone}")]


async def check_clocks(of: Installation) -> list[Finding]:
    """The distance of this clock from the platforms', where they answer with their time."""
    tables = ((bot, key) for bot in of.config.bots for key in ("url", "api_url"))
    addresses = dict.fromkeys(getattr(bot, key, "") for bot, key in tables)
    clocks = await asyncio.gather(*(_clock(address, of.now) for address in addresses if address))
    return [finding for finding in clocks if finding]


async def _clock(address: str, now: datetime) -> Finding | None:
    """The distance of this clock from the platform's; None: the platform names no time."""
    timeout = aiohttp.ClientTimeout(total=ASKED_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as client,
            client.head(address) as answer,
        ):
            theirs = parsedate_to_datetime(answer.headers["Date"])
    except (aiohttp.ClientError, TimeoutError, KeyError, ValueError):
        return None
    off_s = abs((now - theirs).total_seconds())
    if off_s <= SKEW_S:
        return Finding("✓", "clock", "agrees with the platform's")
    text = f"this clock and the platform's are {off_s:.0f} s apart"
    return Finding("✗", "clock", text, "set it by NTP: platforms refuse what is out of time")


async def check_page(of: Installation) -> list[Finding]:
    """The page's port: it is free, or Moot itself listens on it, or another program does."""
    return [await _check_page(of.config.gateway)]


async def check_port(of: Installation) -> list[Finding]:
    """The page's port, where Moot can't have it."""
    return [finding for finding in await check_page(of) if finding.mistake]


async def _check_page(gateway: GatewayTable) -> Finding:
    where = gateway.listen
    if gateway.port == 0:
        return Finding("✓", "page", "any free port")
    fault = _listens(gateway.host, gateway.port)
    if fault is None:
        return Finding("✓", "page", f"{where} is free: Moot doesn't run there")
    taken = listening_fault(fault, PAGE, gateway.host, gateway.port)
    if fault.errno != errno.EADDRINUSE:
        return Finding("✗", "page", taken)
    host = "127.0.0.1" if gateway.host in ("0.0.0.0", "::") else gateway.host  # noqa: S104
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ASKED_S)) as client,
            client.get(f"http://{host}:{gateway.port}/healthz") as answer,
        ):
            told = await answer.json()
            well = answer.status == 200 and told["ok"] is True
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        return Finding("✗", "page", taken)
    if well:
        return Finding("✓", "page", f"Moot runs at {where} and is well")
    return Finding("✗", "page", f"Moot runs at {where} and is not well: see its log")


def _listens(host: str, port: int) -> OSError | None:
    """The reason why nobody can listen there; None: it is free."""
    try:
        [(family, kind, _, _, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as fault:
        return fault
    return None
