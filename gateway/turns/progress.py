"""Shows others a turn on its way: the page by events, people by reactions, administrators in
metrics, traces and the log. Nobody else is told by the queues, the runner or the posting."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import structlog

from bots.bot import Bot
from contract.chat import Destination, PersonaIdentity
from gateway.core import views
from gateway.core.events import EventBus, TurnChanged
from gateway.core.ledger import Turn
from gateway.core.log_context import log_context, log_context_of
from gateway.core.reading import ParsedCommand, Reading
from gateway.core.trace import StepTimer, TurnTraces
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.reactions import TurnReactions
from gateway.turns.steps import REPORTS

log = structlog.stdlib.get_logger("moot.rooms")


@dataclass(frozen=True, slots=True)
class TurnRun:
    """A turn on its way, and what was decided of it once.

    destination: where everything goes that is posted in it, in the voice of its persona. step:
    times its steps. message_id: whose reactions tell of it; None: nobody's. reading: of the message
    that asked; None: it was not read, for it commands nothing. command: what Moot carries out
    itself; None: an agent is asked, or all is said already.
    """

    turn: Turn
    bot: Bot
    destination: Destination
    step: StepTimer
    message_id: str | None = None
    reading: Reading | None = None
    command: ParsedCommand | None = None
    queued_ns: int = 0

    def now(self, turn: Turn) -> TurnRun:
        """The same with what became of its turn."""
        return replace(self, turn=turn)


class TurnProgress:
    """Begins runs, and tells what becomes of them. waited: given the seconds that a turn was in its
    queue; measure: given a turn that is over, and why it has no answer in the room."""

    def __init__(
        self,
        bots: Mapping[str, Bot],
        personas: Personas,
        reactions: TurnReactions,
        bus: EventBus,
        traces: TurnTraces,
        waited: Callable[[float], None],
        measure: Callable[[Turn, str], None],
    ) -> None:
        self._bots = bots
        self._personas = personas
        self._reactions = reactions
        self._bus = bus
        self._traces = traces
        self._waited = waited
        self._measure = measure

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
        bot, trace = self._bots[turn.bot], self._traces.of(turn.id)
        if received_ns:
            trace.add("ingest", received_ns)
        if after:
            trace.after = after
        command = None
        if turn.kind == "command" and turn.state == "queued" and reading is not None:
            command = reading.command if turn.persona else ParsedCommand("pin")
        destination = destination_of(turn, bot, self._personas.get(turn.persona))
        step = StepTimer(trace, REPORTS)
        return TurnRun(turn, bot, destination, step, message_id, reading, command)

    def voiced(self, run: TurnRun, persona: Persona | None) -> TurnRun:
        """The run in the voice of the persona that it begins with."""
        destination = destination_of(run.turn, run.bot, persona)
        return run if destination == run.destination else replace(run, destination=destination)

    def queued(self, run: TurnRun, ahead: int) -> None:
        """It stands in its queue."""
        turn = run.turn
        with log_context(log_context_of(turn)):
            log.info("turn.queued", turn=turn.id, persona=turn.speaker_name, ahead=ahead)
        self.tell(turn, run.message_id, ahead=ahead)

    def waits(self, run: TurnRun) -> None:
        """Others come before it."""
        if run.message_id is not None:
            self._reactions.waiting(run.turn.id, run.bot, run.destination, run.message_id)

    def began(self, run: TurnRun) -> None:
        """Its session took it."""
        if run.command is None and run.message_id is not None:
            self._reactions.began(run.turn.id, run.bot, run.destination, run.message_id)

    def left_queue(self, run: TurnRun) -> None:
        """It waits no more."""
        if run.queued_ns:
            run.step.trace.add("queue", run.queued_ns)
            waited_s = (time.time_ns() - run.queued_ns) / 1e9
            log.info("turn.began", turn=run.turn.id, waited_ms=round(waited_s * 1000, 1))
            self._waited(waited_s)

    def goes_on(self, run: TurnRun) -> None:
        """It may have had to wait for a place, and doesn't any more."""
        self._reactions.goes_on(run.turn.id)

    def tell(
        self, turn: Turn, message_id: str | None = None, *, ahead: int = 0, status: str = ""
    ) -> None:
        """A turn entered a state."""
        if not self._bus.listeners:
            return
        card = views.turn_view(turn, message_id=message_id, ahead=ahead)
        self._bus.publish(TurnChanged(replace(card, status=status) if status else card))

    def over(self, turn: Turn) -> None:
        """Its worker is done with it; one that didn't say so itself has failed."""
        self._reactions.ended(turn.id, "failed")

    def ended(
        self, turn: Turn, reaction: Literal["done", "failed"] | None, failed: str = ""
    ) -> None:
        """It is over. reaction: None: nobody wants to know any more. failed: a word, of one that
        has no answer in the room."""
        self.tell(turn)
        self._reactions.ended(turn.id, reaction)
        self._measure(turn, failed)
        self._traces.ended(turn, failed)

    def lost(self, turn: Turn) -> None:
        """Not even an apology could be posted: the next start tries again."""
        self._traces.ended(turn, "lost")


def destination_of(turn: Turn, bot: Bot, persona: Persona | None) -> Destination:
    """The place of everything that is posted in a turn.

    An account that serves several personas speaks as the one whose turn it is; a command's reply is
    Moot's own, and has no voice.
    """
    speaks = turn.persona and (turn.kind == "ask" or turn.fault is not None)
    if not speaks or len(bot.personas) < 2:
        return Destination(turn.room, turn.thread_id, only_for=turn.record.get("only_for"))
    voice = PersonaIdentity(turn.persona, persona.front.avatar if persona else None)
    return Destination(turn.room, turn.thread_id, voice)
