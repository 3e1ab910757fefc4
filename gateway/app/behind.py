"""Modules that no first reply needs, which are imported behind the bots, one at a time.

While bots connect, and while an agent thinks, the loop mostly waits: then there is time for the
page. A module takes some milliseconds, in which the loop stands still.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module

from adapters.profiles import names

PAGE = (
    "gateway.settings.editing.merging",
    "adapters.screen_profile",
    "adapters.turn_signs",
    "adapters.profiles.demo",
    "gateway.setup.agents",
    "gateway.setup.connecting",
    "gateway.personas.dry_run",
    "memory.browse.view_rows",
    "gateway.web.records",
    "gateway.web.rendering",
    "gateway.web.submission",
    "gateway.web.inbox",
    "gateway.web.chat",
    "gateway.web.memory.room_memory",
    "gateway.web.admin.service",
    "gateway.web.settings.service",
    "gateway.web.services",
    "gateway.web.front.front",
    "gateway.web.chat_api",
    "gateway.web.admin.api",
    "gateway.web.signin.owner_api",
    "gateway.web.access.api",
    "gateway.web.persona_api",
    "gateway.web.schedules_api",
    "gateway.web.memory.api",
    "gateway.web.settings.api",
    "gateway.web.page",
    "gateway.app.page",
)
"""The page's pieces, each with what it needs of those that are not there yet."""

AFTERWARDS = (
    "memory.owner.commands",
    "gateway.commands.recall",
    "gateway.app.handlers",
    *(f"adapters.profiles.{name.replace('-', '_')}" for name in names()),
)
"""Of commands, and of the administrator's lists."""

PROGRAMS = (
    "adapters.screen.screen",
    "adapters.pty.console",
    "adapters.reading.reply",
    "adapters.cli.session",
)
"""Of an agent in a terminal."""

HEAD_START_S = 0.15  # in which bots have the processor for themselves
PATIENCE_S = 1.0  # then a loop that never rests waits no longer
REST_S, LATE_S = 0.01, 0.002  # the loop rests when it comes no later than this


async def load_behind(modules: Iterable[str], head_start_s: float = 0.0) -> None:
    """Import them, each when the loop rests; one that can't be read now is left out."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE_S
    await asyncio.sleep(head_start_s)
    for name in modules:
        while not await _rests() and loop.time() < until:
            pass
        with suppress(OSError):  # no file can be opened now: it is imported where it is needed
            import_module(name)


async def _rests() -> bool:
    due = asyncio.get_running_loop().time() + REST_S
    await asyncio.sleep(REST_S)
    return asyncio.get_running_loop().time() < due + LATE_S
