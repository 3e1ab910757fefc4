"""Reports to systemd: ready, stopping, still alive. sd_notify(3), by a datagram of our own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping

import structlog

log = structlog.stdlib.get_logger("moot.app")

Notify = Callable[[str], None]
"""Takes lines of `NAME=value`. Never fails: who started Moot may have gone."""

ALIVE_S = 10.0  # the unit's WatchdogSec is 60


def nobody(_state: str) -> None:
    """Nobody asked to be told."""


def service_manager(environment: Mapping[str, str]) -> Notify:
    """A function that reports to the socket in NOTIFY_SOCKET, if there is one."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return nobody
    target = f"\0{address[1:]}" if address.startswith("@") else address

    def notify(state: str) -> None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.setblocking(False)
            line.sendto(state.encode(), target)

    return notify


async def keep_alive(notify: Notify) -> None:
    """Tell it for ever that the loop turns."""
    while notify is not nobody:
        notify("WATCHDOG=1")
        await asyncio.sleep(ALIVE_S)
