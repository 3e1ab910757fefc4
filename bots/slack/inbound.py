"""Slack's events as events of the contract, with all that has to be looked up for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bots.kit.events import DeletedMessage, EditedMessage, PinChange
from bots.kit.inbound import MessageContext, inbound, named_dm
from bots.kit.platform_bot import BotSetup
from bots.slack.directory import Directory
from bots.slack.events import (
    SOURCE,
    ButtonPress,
    Channel,
    CommandUse,
    HomeUse,
    NewMessage,
    QuestionAbout,
)
from bots.slack.files import Files
from contract.chat import (
    SLASH,
    Attachment,
    Chosen,
    Deleted,
    Destination,
    Edited,
    Event,
    HomeOpened,
    Inbound,
    Pinned,
    ShowHome,
    stands,
)


class EventConverter:
    """Completes messages. It never waits long: what can't be looked up in time is left out."""

    def __init__(self, setup: BotSetup, directory: Directory, files: Files) -> None:
        self._setup, self._directory, self._files = setup, directory, files

    async def event(
        self,
        found: EditedMessage[Channel]
        | DeletedMessage[Channel]
        | PinChange[Channel, str]
        | ButtonPress
        | CommandUse,
    ) -> Event:
        """An event that is no message of Slack's, as the gateway takes it."""
        match found:
            case CommandUse():
                return await self._command(found)
            case ButtonPress():
                by = await self._directory.speaker(found.user_id)
                place = None
                if found.room is not None:
                    alone = (
                        f"{SLASH}{found.user_id}:{found.question_id}"  # who is told they may not
                    )
                    room = await self._directory.room(found.room)
                    place = Destination(room, found.thread_id, only_for=alone)
                return Chosen(found.question_id, found.option, by, found.digest, place)
        room = await self._directory.room(found.room)
        match found:
            case PinChange():
                by = await self._directory.speaker(found.by)
                return Pinned(room, found.id, by, found.pinned)
            case DeletedMessage():
                return Deleted(room, found.id)
            case EditedMessage():
                return Edited(room, found.id, found.content, found.at)

    async def message(self, said: NewMessage) -> Inbound:
        """The message with what has to be looked up for it."""
        said = replace(said, mentioned=said.mentioned or self._setup.names_us(said.content))
        person, where = (
            self._directory.speaker(said.sender_id, is_bot=said.is_bot, name=said.bot_name),
            self._directory.room(said.room),
        )
        if self._directory.knows(said.room):
            by, room = await person, await where
        else:
            by, room = await asyncio.gather(person, where)  # both are asked for at once
        attachments: Sequence[Attachment] = ()
        context = None
        if said.files or said.thread_id:
            attachments, context = await asyncio.gather(
                self._files.keep(said.room.id, said.files), self._thread_context(said)
            )
        found = MessageContext(said.mentioned, said.at, said.thread_id, attachments, context)
        return inbound(self._setup, SOURCE, said, named_dm(room, by), by, found)

    async def home(self, found: HomeUse, show: ShowHome) -> HomeOpened:
        """Somebody looks at their own tab."""
        by = await self._directory.speaker(found.user_id)
        return HomeOpened(named_dm(await self._directory.room(found.room), by), by, show)

    async def question(self, asked: QuestionAbout) -> Inbound:
        """A question of a message, as one that was said just now in its thread."""
        return await self.message(replace(asked, at=datetime.now(UTC)))

    async def _command(self, found: CommandUse) -> Inbound:
        by, room = await asyncio.gather(
            self._directory.speaker(found.user_id), self._directory.room(found.room)
        )
        now = datetime.now(UTC)
        context = MessageContext(mentioned=True, sent_at=now, thread_id=found.thread_id)
        return inbound(self._setup, SOURCE, found, named_dm(room, by), by, context)

    async def _thread_context(self, said: NewMessage) -> str | None:
        if not (said.mentioned and said.thread_id):
            return None
        until = said.id if stands(said.id) else f"{said.at.timestamp():.6f}"
        return await self._directory.thread_context(said.room.id, said.thread_id, until)
