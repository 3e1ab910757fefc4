"""Threads of the bot's own: one under each question, where a bot is set up so."""

from __future__ import annotations

import structlog

from bots.discord.api import DiscordApi, DiscordRefused
from bots.discord.directory import Directory
from bots.discord.events import NewMessage
from bots.discord.wire import WireChannel
from bots.kit.recent import Recent
from contract.chat import unaddressed
from contract.errors import PlatformError
from contract.values import dataclass

log = structlog.stdlib.get_logger("moot.bots")

_NAME = 100  # Discord: a thread's name
_ARCHIVED_AFTER_MIN = 1440
_PUBLIC = 11
_IS_THERE = 160004  # somebody began one under that message
_REMEMBERED = 5_000
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class _Question:
    """name: of a thread about it. by: the id of who asked."""

    name: str
    by: str


class OwnThreads:
    """Begins a thread under a message, and lets in who asked; where it may not, it doesn't."""

    def __init__(self, api: DiscordApi, directory: Directory, *, wanted: bool) -> None:
        self._api, self._directory, self._wanted = api, directory, wanted
        self._asked: Recent[str, _Question] = Recent(_REMEMBERED)
        self._refused: set[str] = set()  # channels

    def saw(self, message: NewMessage) -> None:
        """A message that may be answered in a thread."""
        about, text = message.id, message.content
        if message.is_command:
            about, text = message.reply_to or "", (message.quoted and message.quoted.content) or ""
        if self._wanted and about:
            name = " ".join(unaddressed(text).split())
            self._asked[about] = _Question(_cut(name) or message.by.name, message.by.id)

    async def begun(self, channel: str, message: str) -> bool:
        """True if there is a thread under the message; its id is the message's. Raises
        PlatformError."""
        asked = self._asked.get(message, _Question("question", ""))
        if not self._wanted or channel in self._refused:
            return False
        try:
            await self._api.call(
                "POST",
                "/channels/{channel_id}/messages/{message_id}/threads",
                body={"name": asked.name, "auto_archive_duration": _ARCHIVED_AFTER_MIN},
                channel_id=channel,
                message_id=message,
            )
        except DiscordRefused as error:
            if error.code != _IS_THERE:
                if error.status != 404:
                    self._refused.add(channel)
                log.warning("thread.not_begun", channel=channel, reason=error)
                return False
        guild = getattr(self._directory.known(channel), "guild_id", None)
        thread = WireChannel(id=message, type=_PUBLIC, parent_id=channel, guild_id=guild)
        self._directory.learn_channel(thread)
        if asked.by:
            await self._let_in(message, asked.by)
        return True

    async def _let_in(self, thread: str, user: str) -> None:
        """Who asked sees the thread among their own, and hears of what is said in it."""
        try:
            await self._api.call(
                "PUT",
                "/channels/{channel_id}/thread-members/{user_id}",
                timeout_s=_PATIENCE_S,
                channel_id=thread,
                user_id=user,
            )
        except PlatformError as error:
            log.info("sign.failed", reason=error)


def _cut(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"
