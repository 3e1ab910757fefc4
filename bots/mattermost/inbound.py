"""Mattermost's events as events of the contract, with all that has to be looked up for them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from bots.kit.events import DeletedMessage, EditedMessage, PinChange
from bots.kit.inbound import MessageContext, inbound, named_dm
from bots.kit.platform_bot import BotSetup
from bots.kit.recent import Recent
from bots.mattermost.directory import Directory
from bots.mattermost.events import SOURCE, ButtonPress, CommandUse, NewMessage, PostEvent
from bots.mattermost.files import Files
from contract.chat import Chosen, Deleted, Destination, Edited, Event, Inbound, Pinned

_REMEMBERED = 5_000


class EventConverter:
    """Completes events. It never waits long: what can't be looked up in time is left out."""

    def __init__(self, setup: BotSetup, directory: Directory, files: Files) -> None:
        self._setup, self._directory, self._files = setup, directory, files
        self._edits: Recent[str, datetime] = Recent(_REMEMBERED)  # that were told, by post

    async def event(
        self, found: PostEvent | PinChange[str, str] | ButtonPress | CommandUse
    ) -> Event | None:
        """The event as the gateway takes it; None when it was told before."""
        room = await self._directory.room(found.room)
        match found:
            case NewMessage():
                return await self._message(found)
            case EditedMessage():
                if self._edits.get(found.id) == found.at:
                    return None  # a pin, a picture that was found behind a link
                self._edits[found.id] = found.at
                return Edited(room, found.id, found.content, found.at)
            case DeletedMessage():
                return Deleted(room, found.id)
            case PinChange():
                by = await self._directory.person(found.by)
                return Pinned(room, found.id, by, found.pinned)
            case ButtonPress():
                by, place = await self._directory.person(found.user_id), Destination(room)
                return Chosen(found.question_id, found.option, by, found.digest, place)
            case CommandUse():
                by = await self._directory.person(found.user_id)
                context = MessageContext(mentioned=True, sent_at=datetime.now(UTC))
                return inbound(self._setup, SOURCE, found, named_dm(room, by), by, context)

    async def _message(self, said: NewMessage) -> Inbound:
        """The message with what has to be looked up for it, all at once and not for long."""
        by, room, mentions, attachments = await asyncio.gather(
            self._directory.sender(said),
            self._directory.room(said.room),
            self._directory.mentioned(said.names),
            self._files.keep(said.room, said.files),
        )
        mentioned = said.mentioned or room.kind == "dm"
        context = await self._directory.thread_context(said) if mentioned else None
        found = MessageContext(mentioned, said.at, said.thread_id, attachments, context)
        said = replace(said, mentions=mentions)
        return inbound(self._setup, SOURCE, said, named_dm(room, by), by, found)
