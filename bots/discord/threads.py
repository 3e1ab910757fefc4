"""Summaries of what was said before: in a thread its history, in a channel the chain of replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from bots.discord.api import DiscordApi, DiscordRefused
from bots.discord.directory import Directory
from bots.discord.events import NewMessage, person
from bots.discord.wire import WireMessage
from bots.kit.directory import SHOWN, Lookup, thread_block
from contract.chat import Speaker
from contract.errors import PlatformError

_BEGINNING = 21  # the first message in a thread's history: it quotes the one that it began under
_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class _EarlierMessages:
    """What was said before the message `until`. quoted: begins a chain of replies."""

    channel: str
    guild: str | None
    until: str
    quoted: WireMessage | None = field(default=None, compare=False, repr=False)  # no log shows it


class ThreadContext:
    def __init__(
        self,
        api: DiscordApi,
        directory: Directory,
        *,
        now: Callable[[], float],
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._api, self._directory = api, directory
        self._found = Lookup("thread", self._fetch, now=now, patience_s=patience_s, entries=256)

    async def close(self) -> None:
        await self._found.close()

    async def context(self, said: NewMessage, thread: str | None) -> str | None:
        """The block of the messages before this one, or None."""
        if thread is None and said.reply_to is None:
            return None
        quoted = said.quoted if thread is None else None
        if thread is None and quoted is None:
            quoted = WireMessage(id=said.reply_to or "0", channel_id=said.channel)
        return (
            await self._found.get(_EarlierMessages(said.channel, said.guild, said.id, quoted))
            or None
        )

    async def _fetch(self, before: _EarlierMessages) -> str:
        if before.quoted is None:
            messages = await self._history(before)
        else:
            messages = await self._chain(before, before.quoted)
        lines: list[tuple[Speaker, str]] = []
        for message in messages:
            if message.author and message.content:
                bot = bool(message.author.bot) or message.webhook_id is not None
                by = person(message.author, message.member, is_bot=bot)
                lines.append((await self._directory.speaker(by, before.guild), message.content))
        return thread_block(lines) or ""

    async def _history(self, before: _EarlierMessages) -> list[WireMessage]:
        """The newest of a thread, oldest first."""
        found = await self._api.call(
            "GET",
            "/channels/{channel_id}/messages",
            query={"before": before.until, "limit": SHOWN},
            channel_id=before.channel,
        )
        messages = []
        for entry in found if isinstance(found, list) else []:
            message = _read(entry)
            if message and message.type == _BEGINNING:
                message = message.referenced_message
            if message and int(message.id) < int(before.until):
                messages.append(message)
        return sorted(messages, key=lambda m: int(m.id))[-SHOWN:]

    async def _chain(self, before: _EarlierMessages, quoted: WireMessage) -> list[WireMessage]:
        """What was replied to, and what that replied to, oldest first."""
        chain: list[WireMessage] = []
        here: WireMessage | None = quoted
        while here is not None and len(chain) < SHOWN:
            if here.author is None:
                here = await self._message(before.channel, here.id)
                if here is None:
                    break
            chain.insert(0, here)
            reference = here.message_reference
            above = reference.message_id if reference else None
            here = here.referenced_message or (
                WireMessage(id=above, channel_id=before.channel) if above else None
            )
        return chain

    async def _message(self, channel: str, message: str) -> WireMessage | None:
        try:
            found = await self._api.call(
                "GET",
                "/channels/{channel_id}/messages/{message_id}",
                channel_id=channel,
                message_id=message,
            )
        except DiscordRefused:
            return None
        except PlatformError:
            return None  # what was read until here is better than nothing
        return _read(found)


def _read(entry: object) -> WireMessage | None:
    try:
        return WireMessage.model_validate(entry)
    except ValidationError:
        return None
