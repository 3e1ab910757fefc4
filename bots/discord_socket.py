"""Discord's gateway over discord.py, which connects, beats, resumes and identifies.

Every event is handed on as Discord wrote it. What discord.py would make of it is left out: an
event that it can't read would end the client, and Moot keeps its own directory.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import discord
from discord.errors import (
    ConnectionClosed,
    DiscordException,
    LoginFailure,
    PrivilegedIntentsRequired,
)

from bots.discord_api import DiscordApi, DiscordHttp
from contract import ConfigError, PlatformError

log = logging.getLogger("moot.bots")

Hear = Callable[[str, Mapping[str, Any]], None]
"""Takes an event's name and its data, in their order; must not raise and must not wait."""

_AGAIN_S = (0.5, 30.0)  # before the client is started anew; doubles
_MOST_FAILURES = 6  # in a row; then the bot's supervisor has it
_BAD_TOKEN, _NO_INTENTS = 4004, (4013, 4014)


class _Client(discord.Client):
    def __init__(self, hear: Hear, intents: discord.Intents, rest_s: float) -> None:
        super().__init__(
            intents=intents,
            enable_debug_events=True,  # else no raw event is told
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            max_messages=None,
        )
        self._hear, self._rest_s = hear, rest_s
        self._connection.parsers.clear()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if event == "socket_raw_receive":
            frame = json.loads(args[0])
            if isinstance(frame, dict) and frame.get("t") and isinstance(frame.get("d"), dict):
                self._hear(str(frame["t"]), frame["d"])
        elif event == "disconnect":
            log.info("Discord's gateway is gone; connecting again")

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Discord takes one IDENTIFY in five seconds."""
        if not initial:
            await asyncio.sleep(self._rest_s)


async def keep_connected(
    api: DiscordApi, intents: int, hear: Hear, bot: str, *, rest_s: float = 5.0
) -> None:
    """Connect, and connect again whenever the client ends, until cancelled.

    rest_s: before a session is begun anew. Raises MootError when Discord refuses us, or when it
    fails over and over.
    """
    failures = 0
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await _connected(api, intents, hear, rest_s)
            reason = "it ended"
        except (LoginFailure, PrivilegedIntentsRequired, ConnectionClosed) as error:
            raise _refusal(error, bot) from error
        except PlatformError as error:
            reason = str(error)
            if error.outcome == "refused":
                raise
        except (DiscordException, aiohttp.ClientError, OSError, RuntimeError) as error:
            reason = type(error).__name__
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # discord.py met what Discord doesn't write; a new session does without it
            reason = f"an event that discord.py can't read ({type(error).__name__})"
        steady = asyncio.get_running_loop().time() - began > _AGAIN_S[1]
        failures = 1 if steady else failures + 1
        if failures > _MOST_FAILURES:
            raise PlatformError(f"Discord's gateway can't be held: {reason}", outcome="retry")
        wait_s = min(_AGAIN_S[0] * 2 ** (failures - 1), _AGAIN_S[1])
        log.warning("Discord bot %s begins anew in %.1f s: %s", bot, wait_s, reason)
        await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter


async def _connected(api: DiscordApi, intents: int, hear: Hear, rest_s: float) -> None:
    gateway_url = await api.gateway_url()
    wanted = discord.Intents.none()
    wanted.value = intents
    client = _Client(hear, wanted, rest_s)
    client.http = http = DiscordHttp(api.api_url, gateway_url)
    try:
        async with client:
            await http.static_login(api.token)
            await client.connect(reconnect=False)  # resumes all the same
    finally:
        await http.close()


def _refusal(error: DiscordException, bot: str) -> ConfigError | PlatformError:
    """Discord's no, as one sentence with its remedy."""
    code = error.code if isinstance(error, ConnectionClosed) else 0
    if isinstance(error, PrivilegedIntentsRequired) or code in _NO_INTENTS:
        return ConfigError(
            f"Discord bot {bot!r}: the intent MESSAGE CONTENT is off: switch it on at "
            "https://discord.com/developers/applications, under Bot, Privileged Gateway Intents"
        )
    if isinstance(error, LoginFailure) or code == _BAD_TOKEN:
        return token_refused(bot)
    return PlatformError(f"Discord closed the gateway ({code})", outcome="retry")


def token_refused(bot: str) -> ConfigError:
    return ConfigError(
        f"Discord bot {bot!r}: the token is refused: take a new one at "
        "https://discord.com/developers/applications, under Bot, Reset Token, as DISCORD_TOKEN"
    )
