"""Decides which of the turns that a message or an answer asks for may be had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from bots.bot import Bot
from composer.headings import quoted
from composer.labels import joined
from contract.chat import Inbound, Speaker
from contract.language import phrase, say
from contract.values import dataclass
from gateway.access.access import Access
from gateway.access.accounts import Accounts
from gateway.access.admissions import Admissions
from gateway.access.unknown_users import AccessRefusal, UnknownUsers
from gateway.access.visibility import Rosters
from gateway.core.ledger import Accepted, Also, Turn, TurnRequest
from gateway.core.reading import Reading, pins_in, worth_pinning
from gateway.core.sql_ledger import SqlLedger
from gateway.limits.accounting import Accounting
from gateway.turns.lent_files import missing_files
from gateway.turns.routing import Route
from memory.readable import ReadableMessages
from store.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Admitted:
    """The turns that are made of a message.

    inbound: the message; one of somebody without a role is learned from by nobody. learns: what
    its sender says may be remembered. allowed: the targets whose turns they may have. requests:
    those that the limits allow, too. refusal: of the others; None: there is none, and bots get
    none. also: the part of the commit that a refusal adds when the message is stored.
    """

    inbound: Inbound
    learns: bool
    allowed: Sequence[str]
    requests: Sequence[TurnRequest]
    refusal: AccessRefusal | None
    also: Also | None


@dataclass(frozen=True, slots=True)
class LongMessages:
    """Says in the room that an agent's prompt holds a part of a message.

    chars: the most that a prompt holds of one. opens_files: true for the name of a persona whose
    agent does, or has a tool that does, and so is given the whole as a file.
    """

    chars: int
    opens_files: Callable[[str], bool]

    def line(self, text: str, personas: Sequence[str]) -> str:
        """The line about a longer one. personas: that are asked; one at least."""
        given = [f"@{name}" for name in personas if self.opens_files(name)]
        others = [f"@{name}" for name in personas if f"@{name}" not in given]
        parts = []
        if given:
            parts.append(
                say(
                    "{given} gets its beginning and its end, and all of it as a file",
                    given=joined(given),
                )
            )
        if others:
            parts.append(say("{others} gets its beginning and its end only", others=joined(others)))
        what = say("✂️ A message of {n} characters is too long for one prompt", n=f"{len(text):,}")
        return f"{what}: {'; '.join(parts)}."


class Admission:
    """Asks the roles and the limits. refused: told of each message whose sender may not ask."""

    def __init__(
        self,
        access: Access,
        admissions: Admissions,
        accounting: Accounting,
        long_messages: LongMessages,
        refused: Callable[[Route], None],
    ) -> None:
        self._long_messages = long_messages
        self._access = access
        self._unknown_users = admissions.unknown_users
        self._claims = admissions.claims
        self._accounting = accounting
        self._refused = refused

    async def admit(self, route: Route, notice: str = "") -> Admitted:
        """By the roles of who sent it, then by the limits: they count questions, and a line of
        Moot's own stands for those that are too many. notice: stands before the answers."""
        inbound, asks = route.inbound, route.reading.command is None
        meta = inbound.meta
        allowed = route.targets
        if not route.trusted:
            allowed = [name for name in allowed if self._may(inbound, name, asks=asks)]
        has_turn = route.trusted or bool(allowed)  # which nobody has without a role
        learns = has_turn or self._access.takes_part(inbound.room, meta.sender_id)
        if not learns:
            meta = meta.model_copy(update={"include_in_memory": False})
            inbound = replace(inbound, meta=meta)
        requests = await self._within_limits(route, inbound, allowed, notice)
        refusal = also = None
        refused = [name for name in route.targets if name not in allowed]
        if refused and meta.sender_type != "bot":
            bot, pins = route.bot, "" in allowed
            alone = bot.capabilities.whispers and inbound.room.is_shared
            refusal = AccessRefusal(
                inbound,
                bot.name,
                inbound.thread_id if alone else route.thread_id,  # none begins for one alone
                refused,
                is_question=asks,
                pins=pins,
                only_for=meta.sender_id if alone else None,
            )
            also = partial(self._unknown_users.answer, refusal)
        return Admitted(inbound, learns, allowed, requests, refusal, also)

    async def _within_limits(
        self, route: Route, inbound: Inbound, allowed: Sequence[str], notice: str
    ) -> list[TurnRequest]:
        """A request for each who may be asked; lines of Moot's own stand before them."""
        asks = route.reading.command is None
        requests = [
            TurnRequest(
                uuid4().hex,
                name,
                route.bot.name,
                route.thread_id,
                route.hop,
                "ask" if asks and name else "command",
            )
            for name in allowed
        ]
        if inbound.attachments and asks:
            notice = "\n".join(filter(None, (missing_files(inbound.attachments), notice)))
        if notice and requests:
            requests = [_notice(requests[0], notice), *requests]
        if not asks or not requests:
            return requests
        requests = await self._accounting.admit(inbound.meta.speaker(), inbound.room, requests)
        if len(inbound.content) > self._long_messages.chars and inbound.meta.sender_type != "bot":
            asked = [one.persona for one in requests if one.kind == "ask"]
            if asked:
                line = self._long_messages.line(inbound.content, asked)
                return [_notice(requests[0], line), *requests]
        return requests

    def _may(self, inbound: Inbound, target: str, *, asks: bool) -> bool:
        """A turn is made of it. Who has any role here may say a command: it asks itself."""
        meta, room = inbound.meta, inbound.room
        if not target:
            return self._access.takes_part(room, meta.sender_id)
        if not asks:
            return self._access.role(room, meta.sender_id, target) is not None
        is_bot = meta.sender_type == "bot"
        return self._access.may_invoke(room, meta.sender_id, target, is_bot=is_bot)

    async def stored(self, route: Route, admitted: Admitted, accepted: Accepted) -> None:
        """The message is on disk, and what becomes of it is known."""
        inbound = admitted.inbound
        persona = next(filter(None, route.targets), None)
        if persona and accepted.new and not route.trusted:
            self._claims.heard(inbound.room, inbound.meta.speaker(), persona)
        if admitted.refusal is not None:
            self._refused(route)
            await self._unknown_users.answered(admitted.refusal, accepted.said)
        elif admitted.allowed and not route.trusted:
            sender, refusals = inbound.meta.sender_id, self._unknown_users.refusals
            if (inbound.room.id, sender) in refusals.told:
                refusals.let_through(inbound.room, sender, admitted.allowed)

    def give_back(self, route: Route, admitted: Admitted) -> None:
        """The message was there before: nobody was asked again."""
        if route.reading.command is None:
            inbound = admitted.inbound
            self._accounting.give_back(inbound.meta.speaker(), inbound.room, admitted.requests)


def _notice(request: TurnRequest, line: str) -> TurnRequest:
    """A line of Moot's own, posted where the answer to a request will be."""
    return replace(request, id=uuid4().hex, persona="", kind="notice", answer=line)


SUGGESTED = {
    "decision": phrase(
        "💡 Sounds like a decision. To keep it: reply `!pin` to it, or `!decision <text>`."
    ),
    "code": phrase("💡 To keep that code in view: reply `!pin` to it."),
}
SUGGEST_EVERY = timedelta(hours=1)


class Suggestions:
    """Says at most once an hour a room, after an agent answered, that a pin would be worth it.

    Only then, and only of what the person had written: among people who talk to each other a bot
    keeps quiet, and long code is what agents write all day. The hour starts again with the process.
    """

    def __init__(
        self,
        transcript: Transcript,
        slices: ReadableMessages,
        clock: Callable[[], datetime],
        *,
        enabled: bool,
    ) -> None:
        self._transcript = transcript
        self._slices = slices
        self._clock = clock
        self._enabled = enabled
        self._told: dict[str, datetime] = {}

    async def after(self, turn: Turn, reading: Reading | None) -> str | None:
        """The line to be said after an agent's answer, or None. reading: of its question when it
        came, of which nearly none is worth a look at the message."""
        if not self._enabled or turn.fault:
            return None
        if reading is not None and worth_pinning(reading.content) is None:
            return None
        told = self._told.get(turn.room.id)
        if told is not None and self._clock() - told < SUGGEST_EVERY:
            return None
        asked = await self._transcript.get(turn.message_seq)
        if asked is None or asked.by.kind != "human":
            return None
        what = worth_pinning(asked.content)
        if what is None or pins_in(asked.content, reply=True):
            return None
        if await self._slices.keepable(asked.seq, "") is None:
            return None
        self._told[turn.room.id] = self._clock()
        return say(SUGGESTED[what])


@dataclass(frozen=True, slots=True)
class HandOver:
    """max_hops: how many bots in a row may do so."""

    accounts: Accounts
    rosters: Rosters
    max_hops: int
    access: Access
    unknown_users: UnknownUsers
    ledger: SqlLedger
    accounting: Accounting
    suggestions: Suggestions

    async def requests(self, turn: Turn, bot: Bot, reading: Reading | None) -> list[TurnRequest]:
        """Find what follows from an answer: turns of the peers that it addresses, and at most
        one line of Moot's own. reading: of its question when it came."""
        found: list[TurnRequest] = []
        said = turn.answer or ""
        # every mention has an @; who repeats the header names all who are in it, and addresses none
        if not turn.fault and "@" in said and not quoted(said):
            found = await self.accounting.hand_over(turn, await self.peers(turn, bot))
        alone = all(one.persona for one in found)
        line = await self.suggestions.after(turn, reading) if alone else None
        if line is not None:
            found.append(
                TurnRequest(uuid4().hex, "", turn.bot, turn.thread_id, turn.hop, "notice", line)
            )
        return found

    async def peers(self, turn: Turn, bot: Bot) -> list[TurnRequest]:
        """The peers that an answer addresses, within the hop limit. Each answers through an account
        that is in the room, its own or this one."""
        if not turn.room.is_shared or turn.hop + 1 > self.max_hops:
            return []
        peers = await self.accounts.peers(turn.room, bot)
        text = turn.answer or ""
        mentions = list(self.accounts.addressing(peers).mentions(text))
        if None in mentions and any(peer.bot is not bot for peer in peers):
            roster = await self.rosters.awaited(turn.room, bot)  # it tells what accounts are called
            mentions = list(self.accounts.addressing(peers, roster).mentions(text))
        addressed = {peer.persona.name: peer.bot.name for peer in mentions if peer is not None}
        addressed.pop(turn.persona, None)
        asker = await self.ledger.beginner(turn) if addressed else None
        if asker is None:
            return []
        wanted = [await self._wanted(turn, asker, *one) for one in addressed.items()]
        return [one for one in wanted if one is not None]

    async def _wanted(
        self, turn: Turn, asker: Speaker, name: str, through: str
    ) -> TurnRequest | None:
        """The turn of a peer, or the line for somebody who may not ask it."""
        request = TurnRequest(uuid4().hex, name, through, turn.thread_id, turn.hop + 1)
        if self.access.may_invoke(turn.room, asker.id, name, is_bot=asker.kind == "bot"):
            return request
        line = await self.unknown_users.handed_over(turn.room, asker, name)
        return replace(request, kind="notice", answer=line) if line else None
