"""Finds the persona that a message is for which names nobody: the one that it goes on with.

The rule is the same on every platform, and reads what is on record: nothing is kept for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bots.bot import Bot
from contract.chat import SCHEDULED, Inbound
from contract.values import dataclass
from gateway.access.access import Access
from gateway.sessions.room_settings import RoomSettings
from gateway.settings.personas.personas import Persona
from gateway.turns.threads import AskedTurn, ThreadLine, Threads
from store.timestamps import micros
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.door")


@dataclass(frozen=True, slots=True)
class FollowUps:
    """A reply to what a persona said is for that one. In a thread a message goes on with the
    persona that answered its sender there last, or is at it; where the room says so, with the last
    one that answered anybody. Where people talk to each other, none is meant."""

    threads: Threads
    transcript: Transcript
    access: Access
    settings: RoomSettings

    async def of(self, inbound: Inbound, bot: Bot, here: Sequence[Persona]) -> list[Persona]:
        """The persona, of those `here`; none where the sender may not ask it."""
        if inbound.meta.sender_type == "bot" or not inbound.room.is_shared or inbound.meta.mentions:
            return []
        visible = inbound.reply_to if inbound.reply_to != inbound.thread_id else None
        if visible and (replied := await self.threads.question_of(inbound.room.id, visible)):
            found: AskedTurn | None = replied.turns[0]
        elif visible and not await self._is_own(inbound, visible):
            return []
        else:
            found = await self._in_thread(inbound, bot)
        if found is None or found.bot != bot.name:
            return []
        sender_id = inbound.meta.sender_id
        if not self.access.may_invoke(inbound.room, sender_id, found.persona):
            return []
        log.debug("ingest.followed", room=inbound.room.id, message=inbound.message_id)
        return [persona for persona in here if persona.name == found.persona]

    async def _is_own(self, inbound: Inbound, message_id: str) -> bool:
        """True if the sender wrote that message, too."""
        said = await self.transcript.find(inbound.room.id, message_id)
        return said is not None and said.by.id == inbound.meta.sender_id

    async def _in_thread(self, inbound: Inbound, bot: Bot) -> AskedTurn | None:
        follow = self.settings.follow(inbound.room)
        thread, sender_id = inbound.thread_id, inbound.meta.sender_id
        if thread is None or follow == "never":
            return None
        said = await self.threads.said(inbound.room.id, thread)
        at = next((n for n, m in enumerate(said) if m.message_id == inbound.message_id), None)
        if at is not None:  # it is on record: another account of ours heard it
            said = said[at + 1 :]
        asked = questions(said, thread, sender_id)
        if not asked and follow == "everybody":
            asked = questions(said, thread, sender_id, anybody=True)
        if not asked:
            asked = await self._before(inbound, thread, said, anybody=follow == "everybody")
        return goes_on_with(asked, micros(inbound.sent_at), self.settings.follow_minutes)

    async def _before(
        self, inbound: Inbound, thread: str, said: Sequence[ThreadLine], *, anybody: bool
    ) -> list[Sequence[AskedTurn]]:
        """The question outside of the thread that it began with an answer to. A scheduled one was
        asked on behalf of all."""
        sender_id = inbound.meta.sender_id
        if any(talks(one, thread, sender_id, said) for one in said):
            return []
        asked = await self.threads.question_of(inbound.room.id, thread)
        if asked is None:
            return []
        everybodys = anybody or asked.message_id.startswith(SCHEDULED)
        return [asked.turns] if everybodys or asked.sender_id == sender_id else []


def questions(
    said: Sequence[ThreadLine], thread: str, sender_id: str, *, anybody: bool = False
) -> list[Sequence[AskedTurn]]:
    """The turns that each question asked for, of the sender or of anybody, the newest first.

    None where the sender talks to somebody else since the newest. said: the newest first.
    """
    found: list[Sequence[AskedTurn]] = []
    for message in said:
        if message.turns and (anybody or message.sender_id == sender_id):
            found.append(message.turns)
        elif not found and talks(message, thread, sender_id, said):
            return []
    return found


def talks(message: ThreadLine, thread: str, sender_id: str, said: Sequence[ThreadLine]) -> bool:
    """True if somebody says it to the sender, or the sender to somebody else than a persona."""
    replied = None
    if message.reply_to is not None and message.reply_to != thread:
        wrote = {one.message_id: one.sender_id for one in said}
        replied = wrote.get(message.reply_to, "")
    if message.sender_id == sender_id:
        return bool(message.mentions) or replied not in (None, sender_id)
    return sender_id in message.mentions or replied == sender_id


def goes_on_with(asked: Sequence[Sequence[AskedTurn]], at: int, minutes: float) -> AskedTurn | None:
    """The turn whose answer was the last one when something was said; the newest question's while
    nobody has answered that. None: none is as new as that. at: in microseconds."""
    if not asked:
        return None
    past = [turn for turns in asked for turn in turns if turn.posted_by(at)]
    if not any(turn in past for turn in asked[0]):
        return asked[0][0]
    last = max(past, key=lambda turn: turn.posted_at or 0)
    return last if at - (last.posted_at or 0) <= minutes * 60_000_000 else None
