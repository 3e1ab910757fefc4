"""What Slack told, with all that has to be looked up for it, as an event of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bots.kit.inbound import message
from bots.kit.naming import Named
from bots.slack.directory import Directory
from bots.slack.events import (
    SOURCE,
    ButtonPress,
    CommandUse,
    DeletedMessage,
    EditedMessage,
    NewMessage,
    PinChange,
    inbound,
)
from bots.slack.files import Files
from contract.chat import Chosen, Deleted, Edited, Event, Inbound, Pinned


class EventConverter:
    """is_named: whether a text names a persona as `@name`. require_mention: the gateway answers
    only those who addressed somebody.
    """

    def __init__(
        self,
        directory: Directory,
        files: Files,
        personas: Sequence[str],
        *,
        is_named: Named,
        require_mention: bool,
    ) -> None:
        self._directory, self._files = directory, files
        self._recipient = f"bot:{personas[0]}" if len(personas) == 1 else None
        self._is_named, self._require_mention = is_named, require_mention

    async def event(
        self,
        found: NewMessage | EditedMessage | DeletedMessage | PinChange | ButtonPress | CommandUse,
    ) -> Event:
        """Never waits long: what can't be looked up in time is told without."""
        if isinstance(found, NewMessage):
            return await self._inbound(found)
        if isinstance(found, CommandUse):
            return await self._commanded(found)
        if isinstance(found, ButtonPress):
            by = await self._directory.speaker(found.user_id)
            return Chosen(found.question_id, found.option, by)
        room = await self._directory.room(found.channel, found.kind)
        if isinstance(found, PinChange):
            by = await self._directory.speaker(found.user_id)
            return Pinned(room, found.ts, by, found.pinned)
        if isinstance(found, DeletedMessage):
            return Deleted(room, found.ts)
        return Edited(room, found.ts, found.content, found.at)

    async def _inbound(self, said: NewMessage) -> Inbound:
        said = replace(said, mentioned=said.mentioned or self._is_named(said.content))
        by, room, attachments, context = await asyncio.gather(
            self._directory.speaker(said.sender_id, is_bot=said.is_bot, name=said.bot_name),
            self._directory.room(said.channel, said.kind),
            self._files.keep(said.channel, said.files),
            self._thread_context(said),
        )
        if room.kind == "dm":
            room = replace(room, name=by.name)
        return inbound(
            said,
            room,
            by,
            mentioned=said.mentioned,
            attachments=attachments,
            thread_context=context,
            recipient_id=self._recipient,
            require_mention=self._require_mention,
        )

    async def _commanded(self, found: CommandUse) -> Inbound:
        by, room = await asyncio.gather(
            self._directory.speaker(found.user_id), self._directory.room(found.channel, None)
        )
        return message(
            SOURCE,
            replace(room, name=by.name) if room.kind == "dm" else room,
            by,
            content=found.content,
            message_id=found.id,
            sent_at=datetime.now(UTC),
            thread_id=None,
            reply_to=None,
            mentioned=True,
            attachments=(),
            thread_context=None,
            recipient_id=self._recipient,
            require_mention=self._require_mention,
        )

    async def _thread_context(self, said: NewMessage) -> str | None:
        if not (said.mentioned and said.thread_ts):
            return None
        return await self._directory.thread_context(said.channel, said.thread_ts, said.ts)
