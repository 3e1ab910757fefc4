"""Discord's gateway over discord.py, which connects, beats, resumes and identifies.

Every event is handed on as Discord wrote it. What discord.py would make of it is left out: an
event that it can't read would end the client, and Moot keeps its own directory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import discord
import structlog
from discord.errors import (
    ConnectionClosed,
    DiscordException,
    LoginFailure,
    PrivilegedIntentsRequired,
)
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from yarl import URL

from bots.discord.api import DiscordApi, DiscordHttp
from bots.kit.retry import backoff_s
from contract.errors import ConfigError, PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

OnEvent = Callable[[str, Mapping[str, Any]], None]
"""Takes an event's name and its data, in their order; must not raise and must not wait."""

_OPENS_S = 60.0
_AGAIN_S = (0.5, 30.0)  # before the client is started again; doubles
_MOST_FAILURES = 6  # in a row; then the bot's supervisor has it
_BAD_TOKEN, _NO_INTENTS = 4004, (4013, 4014)


@dataclass(slots=True)
class _Session:
    """A broken connection goes on from here. id: None: it begins again."""

    id: str | None = None
    sequence: int | None = None
    gateway: URL | None = None


class _Socket(DiscordWebSocket):
    """discord.py's connection, which hands an event on as it came, and decodes it once."""

    async def received_message(self, msg: Any, /) -> None:
        text = self._decompressor.decompress(msg) if isinstance(msg, bytes) else msg
        if text is None:  # the rest is still to come
            return
        frame = json.loads(text)
        if not isinstance(frame, dict) or frame.get("op") != self.DISPATCH:
            await super().received_message(text)
            return
        if frame.get("s") is not None:
            self.sequence = frame["s"]
        if self._keep_alive:
            self._keep_alive.tick()
        self._dispatch("frame", frame)


class _DiscordClient(discord.Client):
    def __init__(self, on_event: OnEvent, intents: discord.Intents, rest_s: float) -> None:
        super().__init__(
            intents=intents,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            max_messages=None,
        )
        self._on_event, self._rest_s = on_event, rest_s
        self._session = _Session()
        self._failures = 0

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Called by the connection; of what discord.py has to say only the events count."""
        if event == "frame":
            self._take(args[0])

    def _take(self, frame: Mapping[str, Any]) -> None:
        self._failures = 0
        name, data = frame.get("t"), frame.get("d")
        if frame.get("s") is not None:
            self._session.sequence = frame["s"]
        if not name or not isinstance(data, dict):
            return
        if name == "READY":
            told = data.get("resume_gateway_url")
            self._session.id = data.get("session_id")
            self._session.gateway = URL(told) if told else None
        self._on_event(str(name), data)

    async def connect(self, *, reconnect: bool = True) -> None:
        """Hold the gateway. A session is resumed, over an outage too, as long as Discord knows it.

        Raises ConnectionClosed when Discord refuses us, or what went wrong over and over.
        """
        initial = True
        while True:
            try:
                await self._converse(initial=initial)
            except ReconnectWebSocket as error:
                log.info("bot.disconnected", platform="discord")
                if not error.resume:
                    self._session, initial = _Session(), False
            except (OSError, aiohttp.ClientError) as error:
                if self._session.id is None or self._failures > _MOST_FAILURES:
                    raise
                reason = type(error).__name__
                log.warning("bot.unreachable", reason=reason)
            await self._rest()

    async def _converse(self, *, initial: bool) -> None:
        session = self._session
        opening = _Socket.from_client(
            self,
            initial=initial,
            gateway=session.gateway,
            session=session.id,
            sequence=session.sequence,
            resume=session.id is not None,
        )
        self.ws = await asyncio.wait_for(opening, _OPENS_S)
        while True:
            await self.ws.poll_event()

    async def _rest(self) -> None:
        """Nothing after a connection that brought something; else longer each time."""
        if self._failures:
            await asyncio.sleep(wait_s(self._failures))
        self._failures += 1

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Discord takes one IDENTIFY in five seconds."""
        if not initial:
            await asyncio.sleep(self._rest_s)


def wait_s(failures: int) -> float:
    """Before the next try after so many failures in a row, 1 at least."""
    first_s, longest_s = _AGAIN_S
    return backoff_s(failures - 1, first_s=first_s, longest_s=longest_s)


async def keep_connected(
    api: DiscordApi, intents: int, on_event: OnEvent, bot: str, *, rest_s: float = 5.0
) -> None:
    """Connect, and connect again whenever the client ends, until cancelled.

    rest_s: before a session is begun again. Raises MootError when Discord refuses us, or when it
    fails over and over.
    """
    failures = 0
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await _connected(api, intents, on_event, rest_s)
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
        again_s = wait_s(failures)
        log.warning("bot.reconnecting", bot=bot, in_s=round(again_s, 1), reason=reason)
        await asyncio.sleep(again_s)


async def _connected(api: DiscordApi, intents: int, on_event: OnEvent, rest_s: float) -> None:
    gateway_url = await api.gateway_url()
    wanted = discord.Intents.none()
    wanted.value = intents
    client = _DiscordClient(on_event, wanted, rest_s)
    client.http = http = DiscordHttp(api.api_url, gateway_url)
    try:
        async with client:
            await http.static_login(api.token)
            await client.connect()
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
