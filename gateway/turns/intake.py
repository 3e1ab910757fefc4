"""The door of the house: an event of a platform goes on disk, and into its session's queue."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

import structlog

from bots.bot import Bot
from contract.chat import Chosen, Deleted, Edited, Event, Inbound, Pinned, stands
from contract.errors import MootError, Rejected
from gateway.access.access import Access
from gateway.access.accounts import Accounts
from gateway.access.presence import Presence
from gateway.access.unknown_users import AccessRefusal, UnknownUsers
from gateway.core import views
from gateway.core.events import MessageDeleted, MessageEdited, MessagePosted, Publish, RoomOpened
from gateway.core.ledger import Accepted, Ledger, TurnRequest
from gateway.core.trace import TurnTraces
from gateway.core.views import RoomView
from gateway.limits.accounting import Accounting
from gateway.questions.questions import Questions
from gateway.settings.personas.personas import Personas
from gateway.turns.commands import parse_command
from gateway.turns.early import EarlyChanges
from gateway.turns.platform_pins import PlatformPins
from gateway.turns.queue import TurnQueues
from gateway.turns.routing import MessageRouter, targets_of
from gateway.turns.typos import likely_typos
from memory.scopes import home_scope
from store.transcript import LATEST, StoredMessage, Transcript

log = structlog.stdlib.get_logger("moot.door")

_REMEMBERED = 1_000  # deliveries that need not be looked up again


class Intake:
    """Takes what bots and the HTTP API bring. Every message of every platform goes through
    `message`, in which it is stored and its turns are queued in one commit."""

    def __init__(
        self,
        *,
        rooms: TurnQueues,
        ledger: Ledger,
        transcript: Transcript,
        personas: Personas,
        accounts: Accounts,
        presence: Presence,
        access: Access,
        strangers: UnknownUsers,
        questions: Questions,
        books: Accounting,
        pins: PlatformPins,
        publish: Publish,
        clock: Callable[[], datetime],
        mention_free: frozenset[str],
        max_hops: int,
        heard: Callable[[str], None] = lambda _: None,
        changed: Callable[[StoredMessage], None] = lambda _: None,
        trails: TurnTraces | None = None,
        refused: Callable[[str], None] = lambda platform: None,
    ) -> None:
        """mention_free: names of the bots that answer every message of their rooms. heard:
        told the scope of every new message. changed: told what was edited or deleted."""
        self._rooms = rooms
        self._ledger = ledger
        self._transcript = transcript
        self._personas = personas
        self._accounts = accounts
        self._presence = presence
        self._access = access
        self._strangers = strangers
        self._questions = questions
        self._books = books
        self._pins = pins
        self._publish = publish
        self._clock = clock
        self._addressees = MessageRouter(ledger, transcript, accounts, mention_free)
        self._max_hops = max_hops
        self._heard = heard
        self._changed = changed
        self._trails = trails or TurnTraces()
        self._refusal_of = refused
        self._seen_rooms: set[str] = set()
        self._early = EarlyChanges()
        self._on_disk: OrderedDict[tuple[str, ...], int] = OrderedDict()

    async def receive(self, event: Event, bot: Bot) -> None:
        """Take one event of a platform; returns when it is on disk."""
        if not isinstance(event, Chosen) and event.room.is_shared:
            await self._presence.heard(event.room, bot.name)
        match event:
            case Inbound():
                if self._is_own(event):
                    log.debug("ingest.own", room=event.room.id, message=event.message_id)
                elif not self._early.is_deleted(event):
                    await self.message(event, bot)
            case Edited():
                if stored := await self._transcript.edit(event):
                    self._publish(MessageEdited(views.message(stored)))
                    self._changed(stored)
                else:
                    await self._keep_early(event)
            case Deleted():
                if stored := await self._transcript.delete(event, self._clock()):
                    self._publish(MessageDeleted(stored.room_id, stored.message_id))
                    await self._rooms.withdraw(stored.seq)
                    self._changed(stored)
                else:
                    await self._keep_early(event)
            case Pinned():
                await self._pins.take(event)
            case Chosen():
                try:
                    await self._questions.press(event.question_id, event.option, event.by)
                except MootError as error:
                    log.info("question.bad_choice", reason=str(error))

    async def message(
        self, inbound: Inbound, bot: Bot, *, trusted: bool = False, notice: str = ""
    ) -> Accepted:
        """Store a message and queue the turns that it asks for; a second delivery does nothing.

        trusted: it came by the API, whose callers are on this machine or hold the token. notice: a
        line of Moot's own that stands before the answers.
        """
        began_ns = time.time_ns()
        _check_unicode(inbound)
        for key, meant in likely_typos(inbound.meta).items():
            log.warning("ingest.typo", key=key, meant=meant, source=inbound.meta.source)
        self._personas.refresh()
        here = self._personas.of(bot.personas)
        known = here
        asks = parse_command(inbound.content, addressed=True) is None
        if not here and not asks:
            known = self._personas.gone(bot.personas)[:1]
        addressed = await self._addressees.of(inbound, bot, known)
        if addressed and not trusted:
            inbound = _recalled_for(inbound)
        has_part = trusted or self._access.takes_part(inbound.room, inbound.meta.sender_id)
        if not has_part:
            inbound = _unlearned(inbound)
        first = next((persona.name for persona in addressed or here), None)
        scope = home_scope(inbound.room, inbound.meta.sender_id, first)
        hop = await self._hop(inbound, scope)
        takers = targets_of(inbound, addressed) if hop <= self._max_hops else []
        allowed = [name for name in takers if trusted or self._may(inbound, name, asks=asks)]
        wanted = self._wanted(inbound, bot, allowed, hop, asks=asks)
        if notice and wanted:
            first_one = replace(wanted[0], id=uuid4().hex, persona="", kind="notice", answer=notice)
            wanted = [first_one, *wanted]
        told = (inbound.room.id, inbound.message_id, *takers)
        if (seq := self._on_disk.get(told)) is not None:  # Slack tells every mention twice
            return Accepted(seq, new=False, turns=())
        if asks:
            wanted = await self._books.admit(inbound, wanted)
        refusal = self._refusal(inbound, bot, takers, allowed, asks=asks)
        accepted = await self._ledger.accept(inbound, scope, wanted, hop, self._clock(), refusal)
        if asks and not accepted.turns:
            self._books.give_back(inbound, wanted)
        self._on_disk[told] = accepted.seq
        if len(self._on_disk) > _REMEMBERED:
            self._on_disk.popitem(last=False)
        if accepted.new:
            if inbound.room.id not in self._seen_rooms:
                self._seen_rooms.add(inbound.room.id)
                self._publish(RoomOpened(RoomView(inbound.room, inbound.sent_at)))
            self._publish(MessagePosted(views.inbound(inbound)))
            if has_part:
                self._heard(scope)
        if (edited := self._early.edit(inbound)) is not None:
            await self.receive(edited, bot)
        marked = inbound.message_id if stands(inbound.message_id) else None
        for turn in accepted.turns:
            self._trails.of(turn.id).add("ingest", began_ns)
            self._rooms.start(turn, marked, inbound.content)
        if refusal is not None:
            self._refusal_of(inbound.meta.source)
            await self._strangers.after(refusal)
        elif allowed and not trusted:
            self._strangers.let_through(inbound.room, inbound.meta.sender_id, allowed)
        return accepted

    async def _keep_early(self, event: Edited | Deleted) -> None:
        """Platforms tell things out of their order: an edit or a deletion waits for its message."""
        if await self._transcript.find(event.room.id, event.message_id) is None:
            self._early.keep(event)

    def _is_own(self, inbound: Inbound) -> bool:
        """Whether one of our accounts said it. Its owner may write through it by hand, too."""
        return not inbound.meta.is_from_me and self._accounts.is_own(inbound.meta.sender_id)

    async def _hop(self, inbound: Inbound, scope: str) -> int:
        """0 for a person; for a bot, how many bots have spoken in a row, this one included.

        In a thread those who speak outside of it don't count.
        """
        if inbound.meta.sender_type == "human":
            return 0
        if known := await self._transcript.find(inbound.room.id, inbound.message_id):
            return known.hop  # another account of ours heard it, too
        if inbound.thread_id is not None:
            before = await self._transcript.thread(
                inbound.room.id, scope, inbound.thread_id, LATEST
            )
        else:
            before = await self._transcript.window(scope, size=1, after=0, trigger=0)
        return before[-1].hop + 1 if before else 1

    def _wanted(
        self, inbound: Inbound, bot: Bot, allowed: Sequence[str], hop: int, *, asks: bool
    ) -> list[TurnRequest]:
        thread_id = _thread(inbound, bot)
        return [
            TurnRequest(
                uuid4().hex, name, bot.name, thread_id, hop, "ask" if asks and name else "command"
            )
            for name in allowed
        ]

    def _may(self, inbound: Inbound, taker: str, *, asks: bool) -> bool:
        """Whether a turn is made of it. Who has any role here may say a command: it asks itself."""
        by, room = inbound.meta.speaker(), inbound.room
        if not taker:
            return self._access.takes_part(room, by.id)
        if not asks:
            return self._access.role(room, by.id, taker) is not None
        return self._access.may_invoke(room, by.id, taker, is_bot=by.kind == "bot")

    def _refusal(
        self,
        inbound: Inbound,
        bot: Bot,
        takers: Sequence[str],
        allowed: Sequence[str],
        *,
        asks: bool,
    ) -> AccessRefusal | None:
        """What is done about turns that its sender may not have. Bots are told nothing."""
        refused = [name for name in takers if name not in allowed]
        if not refused or inbound.meta.sender_type == "bot":
            return None
        return AccessRefusal(
            self._strangers,
            inbound,
            bot.name,
            _thread(inbound, bot),
            refused,
            is_question=asks,
            taken="" in allowed,
        )


def _thread(inbound: Inbound, bot: Bot) -> str | None:
    """The thread in which it is answered."""
    opens = inbound.room.kind == "room" and stands(inbound.message_id)
    in_thread = bot.capabilities.thread_replies and opens
    return inbound.thread_id or (inbound.message_id if in_thread else None)


def _unlearned(inbound: Inbound) -> Inbound:
    """What people without a role say stands in the transcript, and is learned from by nobody."""
    meta = inbound.meta.model_copy(update={"include_in_memory": False})
    return replace(inbound, meta=meta)


def _recalled_for(inbound: Inbound) -> Inbound:
    """A message that names a persona asks for recall as one that mentions its account does.

    What personas are called besides their names, no platform knows.
    """
    if inbound.meta.trigger_rag:
        return inbound
    return replace(inbound, meta=inbound.meta.model_copy(update={"trigger_rag": True}))


def _check_unicode(inbound: Inbound) -> None:
    """Raise Rejected for half a surrogate pair, which JSON can say and no database can store."""
    texts = {
        "content": inbound.content,
        "sender_display_name": inbound.meta.sender_display_name,
        "sender_id": inbound.meta.sender_id,
        "room": f"{inbound.room.id}{inbound.room.name}{inbound.room.kind}{inbound.room.project}",
        "message_id": inbound.message_id,
        "thread_id": f"{inbound.thread_id}{inbound.reply_to}",
        "mention_token": inbound.meta.mention_token or "",
    }
    for name, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Rejected(name, "holds half a surrogate pair, which is no character") from None
