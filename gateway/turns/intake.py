"""Takes every event of every platform: a message goes on disk, and its turns into their queues;
an edit or a deletion is made, also one that a platform tells before its message."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import structlog

from bots.bot import Bot
from bots.kit.recent import Recent
from contract.chat import Chosen, Deleted, Edited, Event, Inbound, SenderType, stands
from contract.errors import Rejected
from contract.language import speaking
from gateway.access.accounts import Accounts
from gateway.core import views
from gateway.core.events import EventBus, MessageDeleted, MessageEdited, MessagePosted, RoomOpened
from gateway.core.ledger import Accepted
from gateway.core.reading import read
from gateway.core.sql_ledger import SqlLedger
from gateway.core.views import RoomView
from gateway.files.shared import SharedFiles
from gateway.turns.admission import Admission, Admitted
from gateway.turns.progress import TurnRun
from gateway.turns.queue import TurnQueues
from gateway.turns.routing import MessageRouter, Route
from gateway.turns.typos import likely_typos
from gateway.turns.voice import VoiceMessages
from store.rows import StoredMessage
from store.timestamps import moment
from store.tombstones import Tombstones
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.door")

_REMEMBERED = 1_000  # deliveries that need not be looked up again, and changes that came early


class MessageListeners:
    """Tells who watches, and the memory, what became of messages. stored: given the kind of each
    new one's sender. heard: given the scope of each that may be learned from. changed: given what
    was edited."""

    def __init__(
        self,
        bus: EventBus,
        stored: Callable[[SenderType], None],
        heard: Callable[[str], None],
        changed: Callable[[StoredMessage], None],
    ) -> None:
        self._bus = bus
        self._stored = stored
        self._heard = heard
        self._changed = changed
        self._seen_rooms: set[str] = set()

    def posted(self, inbound: Inbound, scope: str, *, learns: bool) -> None:
        """A message is new."""
        self._stored(inbound.meta.sender_type)
        if inbound.room.id not in self._seen_rooms:
            self._seen_rooms.add(inbound.room.id)
            self._bus.publish(RoomOpened(RoomView(inbound.room, inbound.sent_at)))
        if self._bus.listeners:
            self._bus.publish(MessagePosted(views.inbound(inbound)))
        if learns:
            self._heard(scope)

    def edited(self, message: StoredMessage) -> None:
        """A message has another text."""
        self._bus.publish(MessageEdited(views.message(message)))
        self._changed(message)

    def deleted(self, message: StoredMessage) -> None:
        """A message is gone."""
        self._bus.publish(MessageDeleted(message.room_id, message.message_id))


class Changes:
    """Carries them out. Platforms tell things out of their order: an edit or a deletion waits for
    its message.

    early: the last of those that wait, by room and message; forgotten when the process ends.
    """

    def __init__(
        self,
        transcript: Transcript,
        listeners: MessageListeners,
        queues: TurnQueues,
        changed: Callable[[StoredMessage], None],
        clock: Callable[[], datetime],
        tombstones: Tombstones,
        files: SharedFiles,
    ) -> None:
        self._transcript = transcript
        self.tombstones = tombstones
        self.files = files
        self.listeners = listeners
        self._queues = queues
        self._changed = changed
        self._clock = clock
        self.early: Recent[tuple[str, str], Edited | Deleted] = Recent(_REMEMBERED)

    async def edit(self, event: Edited) -> None:
        """A message's text was changed."""
        if stored := await self._transcript.edit(event):
            self.listeners.edited(stored)
        else:
            await self._keep_early(event)

    async def delete(self, event: Deleted) -> None:
        """A message was deleted: so are its turns that wait."""
        if stored := await self._transcript.delete(event, self._clock()):
            self.listeners.deleted(stored)
            await self._queues.withdraw(stored.seq)
            self._changed(stored)
        else:
            await self._keep_early(event)

    async def refuse_erased(self, inbound: Inbound) -> None:
        """Raise Rejected for what somebody said before all of theirs was deleted; the files that
        the platform sent along go, unless another message has them."""
        if not self.tombstones.cover(inbound.meta.sender_id, inbound.sent_at):
            return
        await self.tombstones.drop_files(inbound.attachments)
        raise Rejected("sent_at", "all that its sender said until later than that was deleted")

    async def came(self, inbound: Inbound) -> None:
        """A message is stored: the edit that came before it is made."""
        key = (inbound.room.id, inbound.message_id)
        if isinstance(event := self.early.get(key), Edited):
            del self.early[key]
            await self.edit(event)

    async def _keep_early(self, event: Edited | Deleted) -> None:
        if await self._transcript.find(event.room.id, event.message_id) is not None:
            return
        key = (event.room.id, event.message_id)
        if not isinstance(self.early.get(key), Deleted):  # a deletion stays one
            self.early[key] = event


Handlers = Mapping[type[Any], Callable[[Any, Bot], Awaitable[None]]]
"""By the type of an event: who takes what is neither a message nor a change of one, and whose."""


class Intake:
    """Takes what bots and the HTTP API bring. Every message of every platform goes through
    `message`, in which it is stored and its turns are queued in one commit."""

    def __init__(
        self,
        *,
        accounts: Accounts,
        router: MessageRouter,
        admission: Admission,
        ledger: SqlLedger,
        queues: TurnQueues,
        changes: Changes,
        voice: VoiceMessages,
        handlers: Handlers,
    ) -> None:
        self._accounts = accounts
        self._router = router
        self._admission = admission
        self._ledger = ledger
        self._queues = queues
        self._changes = changes
        self._voice = voice
        self._handlers = handlers
        self._on_disk: Recent[tuple[str, ...], int] = Recent(_REMEMBERED)
        self._deliveries: Recent[tuple[str, str, str], tuple[Inbound, int]] = Recent(_REMEMBERED)

    async def receive(self, event: Event, bot: Bot) -> None:
        """Take one event of a platform; returns when it is on disk."""
        if not isinstance(event, Chosen) and event.room.is_shared:
            await self._accounts.presence.heard(event.room, bot.name)
        with speaking(self._router.settings.language(event.room) if event.room else None):
            await self._receive(event, bot)

    async def _receive(self, event: Event, bot: Bot) -> None:
        match event:
            case Inbound():
                early = self._changes.early.get((event.room.id, event.message_id))
                by_hand = event.meta.is_from_me  # the owner of an account wrote through it
                if not by_hand and self._accounts.is_own(event.meta.sender_id):
                    log.debug("ingest.own", room=event.room.id, message=event.message_id)
                elif not isinstance(early, Deleted):
                    await self.message(event, bot)
            case Edited():
                await self._changes.edit(event)
            case Deleted():
                await self._changes.delete(event)
            case _:
                await self._handlers[type(event)](event, bot)

    async def look(self, run: TurnRun) -> None:
        """Ask the platform what became of the message that a turn answers, and take that in."""
        if run.command is None and run.message_id is not None:
            event = await run.bot.changed(run.turn.room, run.message_id)
            if event is not None:
                await self.receive(event, run.bot)

    async def message(
        self, inbound: Inbound, bot: Bot, *, trusted: bool = False, notice: str = ""
    ) -> Accepted:
        """Store a message and queue the turns that it asks for; a second delivery does nothing.

        trusted: it came by the API, with an owner's token. notice: a line of Moot's own that stands
        before the answers.
        """
        with speaking(self._router.settings.language(inbound.room)):
            return await self._take(inbound, bot, trusted=trusted, notice=notice)

    async def _take(self, inbound: Inbound, bot: Bot, *, trusted: bool, notice: str) -> Accepted:
        received_ns = time.time_ns()
        delivery = (bot.name, inbound.room.id, inbound.message_id)
        before = self._deliveries.get(delivery)
        if before is not None and before[0] == inbound:  # Slack tells every mention twice
            return Accepted(before[1], new=False, turns=())
        given = inbound
        if self._changes.tombstones.until:
            await self._changes.refuse_erased(inbound)
        if inbound.attachments:
            inbound, unheard = await self._voice.written(inbound)
            notice = "\n".join(filter(None, (notice, unheard)))
            await self._changes.files.keep(inbound.attachments)
        inbound = _checked(inbound)
        reading = read(inbound.content, reply=inbound.reply_to is not None)
        route = await self._router.route(inbound, bot, reading, trusted=trusted)
        asked = (inbound.room.id, inbound.message_id, *route.targets)
        if (seq := self._on_disk.get(asked)) is not None:
            return Accepted(seq, new=False, turns=())
        admitted = await self._admission.admit(route, notice)
        accepted = await self._stored(route, admitted, received_ns)
        if not accepted.turns and admitted.requests:
            self._admission.give_back(route, admitted)
            self._queues.take_up()  # who brought it first may not know that it is on disk
        self._on_disk[asked] = accepted.seq
        self._deliveries[delivery] = given, accepted.seq
        await self._admission.stored(route, admitted, accepted)
        return accepted

    async def _stored(self, route: Route, admitted: Admitted, received_ns: int) -> Accepted:
        """Put a message on disk. Its turns begin when it can be read, or when the edit that came
        before it is made."""
        inbound, now = admitted.inbound, moment(received_ns // 1000)
        begin = partial(self._begin, route, admitted, received_ns)
        edited = (inbound.room.id, inbound.message_id) in self._changes.early
        self._queues.coming += 1
        try:
            accepted = await self._ledger.accept(
                inbound,
                route.scope,
                admitted.requests,
                route.hop,
                now,
                admitted.also,
                seen=None if edited else begin,
            )
        finally:
            self._queues.coming -= 1
        if self._changes.early:
            await self._changes.came(inbound)
        if edited:
            begin(accepted)
        return accepted

    def _begin(
        self, route: Route, admitted: Admitted, received_ns: int, accepted: Accepted
    ) -> None:
        """Everybody is told whom a message concerns, and its turns begin."""
        inbound = admitted.inbound
        if accepted.new:
            self._changes.listeners.posted(inbound, route.scope, learns=admitted.learns)
        marked = inbound.message_id if stands(inbound.message_id) else None
        for turn in accepted.turns:
            self._queues.start(turn, marked, route.reading, received_ns)


def _checked(inbound: Inbound) -> Inbound:
    """The message without NUL in its words and names, which PostgreSQL can't hold; log keys of the
    metadata that are nearly known ones.

    Raise Rejected for NUL in an id, and for half a surrogate pair, which JSON can say and no
    database can store.
    """
    if inbound.meta.model_extra:
        for key, meant in likely_typos(inbound.meta).items():
            log.warning("ingest.typo", key=key, meant=meant, source=inbound.meta.source)
    name = inbound.meta.sender_display_name
    if "\0" in f"{inbound.content}{name}{inbound.room.name}":
        meta = inbound.meta.model_copy(update={"sender_display_name": name.replace("\0", "")})
        room = replace(inbound.room, name=inbound.room.name.replace("\0", ""))
        content = inbound.content.replace("\0", "")
        inbound = replace(inbound, content=content, meta=meta, room=room)
    texts = {
        "content": inbound.content,
        "sender_display_name": inbound.meta.sender_display_name,
        "sender_id": inbound.meta.sender_id,
        "room": f"{inbound.room.id}{inbound.room.name}{inbound.room.kind}{inbound.room.project}",
        "message_id": inbound.message_id,
        "thread_id": f"{inbound.thread_id}{inbound.reply_to}",
        "mention_token": inbound.meta.mention_token or "",
    }
    for field, text in texts.items():
        if "\0" in text:
            raise Rejected(field, "holds a NUL, which is no character")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Rejected(field, "holds half a surrogate pair, which is no character") from None
    return inbound
