"""The question on the terminal of `moot run`: is who mentioned a persona first its owner?"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import TextIO

from gateway.access.claims import Claim
from gateway.app.app import Confirms
from gateway.cli.command_line import printable

AWAY_S = 1.0  # between looks, while another program has the terminal


def confirms_on(given: TextIO) -> Confirms | None:
    """The question on a terminal; None: there is nobody to ask."""
    if not given.isatty() or "JOURNAL_STREAM" in os.environ:
        return None
    descriptor = given.fileno()

    async def confirms(claim: Claim) -> bool:
        who = printable(f"{claim.person.name} ({claim.person.id})")
        termios.tcflush(descriptor, termios.TCIFLUSH)  # what was typed before is no answer
        _say(f"\n{who} mentioned @{claim.persona}: is that you? Then you are its owner. [y/N]: ")
        try:
            accepts = (await _line(descriptor)).strip().lower() in ("y", "yes")
        except asyncio.CancelledError:
            _say("\nThat was answered elsewhere, or Moot ends.\n")
            raise
        _say(f"{who} {'is the owner now' if accepts else 'is not the owner'}.\n")
        return accepts

    return confirms


async def _line(descriptor: int) -> str:
    """The next line that is typed; "" at the end. A program in the background must not read."""
    loop = asyncio.get_running_loop()
    while True:
        there = asyncio.Event()
        loop.add_reader(descriptor, there.set)
        try:
            await there.wait()
        finally:
            loop.remove_reader(descriptor)
        if os.tcgetpgrp(descriptor) == os.getpgrp():
            return os.read(descriptor, 4096).decode(errors="replace")
        await asyncio.sleep(AWAY_S)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
