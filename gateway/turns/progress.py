"""Shows others a turn on its way: the page by events, people by reactions on their messages,
administrators in metrics, traces and the log. Nobody else is told by the queues, the runner or the
posting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Literal

import structlog

from bots.bot import Bot, Reaction
from contract.chat import Destination, PersonaIdentity
from contract.errors import PlatformError
from contract.values import dataclass
from contract.work import Work
from gateway.core import views
from gateway.core.events import EventBus, TurnChanged
from gateway.core.ledger import Turn
from gateway.core.log_context import turn_log_context
from gateway.core.reading import ParsedCommand, Reading
from gateway.core.trace import Step, StepTimer, TurnTrace
from gateway.settings.personas.personas import Persona, Personas
from gateway.settings.tables import Show
from gateway.turns.steps import REPORTS

log = structlog.stdlib.get_logger("moot.rooms")

Shown = Literal["all", "waiting", "off"]

WORKING_AFTER_S = 0.3  # a quicker answer needs no sign that it is coming
# Slack lets an app react 50 times a minute, Synapse 10 times at once: answers come before marks.
AT_ONCE, EVERY_S = 10, 1.2
FEW = 5  # when more than these wait to be marked, an answered message without a mark gets none
SLOW_S = 30.0

_ORDER: tuple[Reaction, ...] = ("working", "waiting", "failed", "done")


@dataclass(slots=True)
class _Message:
    """A message that asked somebody. turns: what each of its turns has come to, by id; open: those
    that did not end yet."""

    bot: Bot
    place: Destination
    id: str
    turns: dict[str, Reaction] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    shown: Reaction | None = None
    in_line: bool = False


class TurnReactions:
    """Marks messages in the background, each bot's one after the other: nothing is held up by it,
    and two hundred at once don't flood a platform. What is out of date by then is left out.

    shown: all; only what waits, and what becomes of it; nothing.
    """

    def __init__(self, group: asyncio.TaskGroup, bots: Mapping[str, Bot], shown: Shown) -> None:
        self._shown = shown
        self._lines: dict[str, asyncio.Queue[_Message]] = {}
        for name, bot in bots.items():
            if bot.capabilities.reactions:
                line = self._lines[name] = asyncio.Queue()
                group.create_task(self._work(line), name=f"marks {name}")
        self._messages: dict[tuple[str, str, str], _Message] = {}
        self._turns: dict[str, _Message] = {}
        self._soon: dict[str, asyncio.TimerHandle] = {}

    def knows(self, turn_id: str, bot: Bot, place: Destination, message_id: str) -> bool:
        """Remember whose message it is; False where nothing is marked."""
        if self._shown == "off" or bot.name not in self._lines:
            return False
        key = (bot.name, place.room.id, message_id)
        message = self._messages.setdefault(key, _Message(bot, place, message_id))
        message.open.add(turn_id)
        self._turns[turn_id] = message
        return True

    def waiting(self, turn_id: str, bot: Bot, place: Destination, message_id: str) -> None:
        """The turn waits behind others; told twice it is marked once."""
        if self.knows(turn_id, bot, place, message_id):
            if (soon := self._soon.pop(turn_id, None)) is not None:
                soon.cancel()
            self._enter(turn_id, "waiting")

    def goes_on(self, turn_id: str) -> None:
        """The turn may have had to wait since it began, and doesn't any more."""
        if self._shown == "all" and turn_id in self._turns and turn_id not in self._soon:
            loop = asyncio.get_running_loop()
            later = loop.call_later(WORKING_AFTER_S, self._enter, turn_id, "working")
            self._soon[turn_id] = later

    def ended(self, turn_id: str, mark: Literal["done", "failed"] | None) -> None:
        """The turn is over. None: nobody is there any more who would want to know."""
        message = self._turns.pop(turn_id, None)
        if message is None:
            return
        if (soon := self._soon.pop(turn_id, None)) is not None:
            soon.cancel()
        message.open.discard(turn_id)
        if mark is None:
            message.turns.pop(turn_id, None)
        elif self._shown == "all" or message.shown is not None:
            message.turns[turn_id] = mark
        else:
            message.turns.pop(turn_id, None)
        self._line_up(message)

    def _enter(self, turn_id: str, mark: Reaction) -> None:
        if (message := self._turns.get(turn_id)) is not None:
            message.turns[turn_id] = mark
            self._line_up(message)

    def _line_up(self, message: _Message) -> None:
        if not message.in_line:
            message.in_line = True
            self._lines[message.bot.name].put_nowait(message)

    async def _work(self, line: asyncio.Queue[_Message]) -> None:
        """Mark one bot's messages, as fast as it may."""
        left, since_s = float(AT_ONCE), 0.0
        while True:
            message = await line.get()
            mark = _due(message, line.qsize())
            if mark is not None:
                now_s = asyncio.get_running_loop().time()
                left = min(AT_ONCE, left + (now_s - since_s) / EVERY_S) - 1
                since_s = now_s
                if left < 0:
                    await asyncio.sleep(-left * EVERY_S)
                    mark = _due(message, line.qsize())
            message.in_line = False
            if mark is not None:
                message.shown = mark
                try:
                    async with asyncio.timeout(SLOW_S):
                        await message.bot.react(message.place, message.id, mark)
                except (PlatformError, TimeoutError) as error:
                    log.info("mark.failed", bot=message.bot.name, reason=str(error))
            if not message.in_line and not message.open:  # it bears what it should, for good
                key = (message.bot.name, message.place.room.id, message.id)
                self._messages.pop(key, None)


def _due(message: _Message, waiting: int) -> Reaction | None:
    """The reaction that a message should bear now; None when it bears that already, or when it has
    none and is answered, and many more wait to be marked."""
    stages = message.turns.values()
    mark = next((mark for mark in _ORDER if mark in stages), None)
    if mark in ("done", "failed") and message.shown is None and waiting > FEW:
        return None
    return None if mark == message.shown else mark


@dataclass(slots=True)
class Succession:
    """A turn among those of its session: once its answer is stored the next one begins, while this
    one is posted. The next one's posts come behind its own.

    before: the turn whose posts come first; None: they are made. begin_next: true where a turn
    begins by it. answered: its answer is stored. ended: nothing more of it is posted. withdrawn:
    nobody wants its answer any more.
    """

    before: Succession | None = None
    begin_next: Callable[[Succession], bool] = lambda _: False
    answered: bool = False
    passed_on: bool = False
    withdrawn: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def may_post(self) -> bool:
        """True once the posts before it are made."""
        return self.before is None or self.before.ended.is_set()

    async def posts_before(self) -> None:
        """Wait for them."""
        if self.before is not None:
            await self.before.ended.wait()
            self.before = None

    def stored(self) -> None:
        """Its answer is stored."""
        self.answered = True
        self.pass_on()

    def pass_on(self) -> bool:
        """Begin the next turn, if it may be begun: no more than one is posted while another one is
        at work. False: none was."""
        if not self.answered or self.passed_on or not self.may_post:
            return False
        self.passed_on = self.begin_next(self)
        return self.passed_on


@dataclass(frozen=True, slots=True)
class TurnRun:
    """A turn on its way, and what was decided of it once.

    destination: where everything goes that is posted in it, in the voice of its persona. step:
    times its steps. message_id: whose reactions tell of it; None: nobody's. reading: of the message
    that asked; None: it was not read, for it commands nothing. command: what Moot carries out
    itself; None: an agent is asked, or all is said already. succession: the turns around it.
    """

    turn: Turn
    bot: Bot
    destination: Destination
    step: StepTimer
    message_id: str | None = None
    reading: Reading | None = None
    command: ParsedCommand | None = None
    queued_ns: int = 0
    succession: Succession = field(default_factory=Succession)


class TurnProgress:
    """Begins runs, and tells what becomes of them.

    traced: given each turn that is over with its steps; None: nobody wants them. waited: given the
    seconds that a turn was in its queue. measure: given a turn that is over, and why it has no
    answer in the room.
    """

    def __init__(
        self,
        bots: Mapping[str, Bot],
        personas: Personas,
        reactions: TurnReactions,
        bus: EventBus,
        traced: Callable[[Turn, TurnTrace], None] | None,
        waited: Callable[[float], None],
        measure: Callable[[Turn, str], None],
        show: Show,
    ) -> None:
        self._show: Show = show
        self._bots = bots
        self._personas = personas
        self.reactions = reactions
        self.bus = bus
        self._traced = traced
        self._waited = waited
        self._measure = measure
        self.works: dict[str, Work] = {}
        """The work of each turn that runs, as it may be shown, by the turn's id."""
        self._with_agents: set[str] = set()

    @contextmanager
    def asking(self, turn: Turn) -> Iterator[None]:
        """An agent works on a turn, until this is left."""
        self._with_agents.add(turn.id)
        try:
            yield
        finally:
            self._with_agents.discard(turn.id)

    def with_agent(self, turn: Turn) -> bool:
        """True while its agent works on it."""
        return turn.id in self._with_agents

    def run(
        self,
        turn: Turn,
        message_id: str | None = None,
        reading: Reading | None = None,
        received_ns: int = 0,
        *,
        after: str = "",
    ) -> TurnRun:
        """A turn's run. after: the turn whose answer hands over to it."""
        bot, trace = self._bots[turn.bot], TurnTrace()
        if received_ns:
            trace.steps.append(Step("ingest", received_ns))
        if after:
            trace.after = after
        command = None
        if turn.kind == "command" and turn.state == "queued" and reading is not None:
            command = reading.command if turn.persona else ParsedCommand("pin")
        destination = destination_of(turn, bot, self._personas.good.get(turn.persona))
        step = StepTimer(trace, REPORTS)
        return TurnRun(turn, bot, destination, step, message_id, reading, command)

    def shows_work(self, persona: str) -> bool:
        """True where people see a persona's work, too, and not only its words."""
        known = self._personas.good.get(persona)
        return ((known and known.front.show) or self._show) == "work"

    def queued(self, run: TurnRun, ahead: int) -> None:
        """Note that a turn stands in its queue."""
        turn = run.turn
        with turn_log_context(turn):
            log.info("turn.queued", turn=turn.id, persona=turn.speaker_name, ahead=ahead)
        self.tell(turn, run.message_id, ahead=ahead)

    def waits(self, run: TurnRun) -> None:
        """Others come before it."""
        if run.message_id is not None:
            self.reactions.waiting(run.turn.id, run.bot, run.destination, run.message_id)

    def began(self, run: TurnRun) -> None:
        """Note that its session took it: it waits no more."""
        if run.command is None and run.message_id is not None:
            self.reactions.knows(run.turn.id, run.bot, run.destination, run.message_id)
            self.reactions.goes_on(run.turn.id)
        if run.queued_ns:
            run.step.trace.steps.append(Step("queue", run.queued_ns))
            waited_s = (time.time_ns() - run.queued_ns) / 1e9
            log.info("turn.began", turn=run.turn.id, waited_ms=round(waited_s * 1000, 1))
            self._waited(waited_s)

    def tell(
        self, turn: Turn, message_id: str | None = None, *, ahead: int = 0, status: str = ""
    ) -> None:
        """A turn entered a state."""
        if not self.bus.listeners:
            return
        card = views.turn_view(turn, message_id=message_id, ahead=ahead)
        self.bus.publish(TurnChanged(replace(card, status=status) if status else card))

    def ended(
        self,
        turn: Turn,
        trace: TurnTrace,
        reaction: Literal["done", "failed"] | None,
        failed: str = "",
    ) -> None:
        """Note that it is over.

        reaction: None: nobody wants to know any more. failed: a word, of one that has no answer
        in the room.
        """
        self.tell(turn)
        self.reactions.ended(turn.id, reaction)
        self._measure(turn, failed)
        if self._traced is not None:
            self._traced(turn, replace(trace, failed=failed))

    def lost(self, turn: Turn, trace: TurnTrace) -> None:
        """Not even an apology could be posted: the next start tries again."""
        if self._traced is not None:
            self._traced(turn, replace(trace, failed="lost"))


def destination_of(turn: Turn, bot: Bot, persona: Persona | None) -> Destination:
    """The place of everything that is posted in a turn.

    An account that serves several personas speaks as the one whose turn it is; a command's reply is
    Moot's own, and has no voice.
    """
    speaks = turn.persona and (turn.kind == "ask" or turn.fault is not None)
    if not speaks:
        return Destination(turn.room, turn.thread_id, only_for=turn.record.get("only_for"))
    voice = None
    if len(bot.personas) > 1:
        voice = PersonaIdentity(turn.persona, persona.front.avatar if persona else None)
    return Destination(turn.room, turn.thread_id, voice, is_answer=turn.kind == "ask")
