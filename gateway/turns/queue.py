"""One queue a session and, while it has work, one worker: turns of a session never overlap."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import structlog

from bots.bot import Bot
from contract.chat import stands
from gateway.access.accounts import Accounts
from gateway.core import views
from gateway.core.addressing import unaddressed
from gateway.core.events import Publish, TurnChanged
from gateway.core.ledger import Ledger, Turn
from gateway.core.log_context import SessionLogContexts, log_context, log_context_of
from gateway.core.trace import StepTimer
from gateway.settings.personas.personas import Persona, Personas
from gateway.turns.commands import Commands, ParsedCommand, parse_command
from gateway.turns.reactions import TurnReactions
from gateway.turns.turn import TurnRunner
from store.transcript import StoredMessage, Transcript

log = structlog.stdlib.get_logger("moot.rooms")

CRASHED = "⚠️ Something broke on my side. The administrator finds turn {} in the log."


@dataclass(frozen=True, slots=True)
class _Queued:
    """A turn in its queue. command: what it carries out itself. message_id: whose marks tell of
    it; None: nobody's."""

    turn: Turn
    command: ParsedCommand | None
    message_id: str | None

    def is_asked_by(self, message_seq: int) -> bool:
        """Whether it answers a message."""
        return self.command is None and self.turn.message_seq == message_seq


@dataclass(slots=True)
class _Queue:
    """The turns of one session in their order. working: a worker takes them. current: the one
    that it took."""

    waiting: deque[_Queued] = field(default_factory=deque)
    working: bool = False
    current: _Queued | None = None


class TurnQueues:
    """The sessions' queues and workers."""

    def __init__(
        self,
        *,
        group: asyncio.TaskGroup,
        middle: TurnRunner,
        ledger: Ledger,
        transcript: Transcript,
        personas: Personas,
        accounts: Accounts,
        bots: Mapping[str, Bot],
        commands: Commands,
        marks: TurnReactions,
        publish: Publish,
        clock: Callable[[], datetime],
    ) -> None:
        self._group = group
        self._middle = middle
        self._ledger = ledger
        self._transcript = transcript
        self._personas = personas
        self._accounts = accounts
        self._bots = bots
        self._commands = commands
        self._marks = marks
        self._publish = publish
        self._clock = clock
        self._queues: dict[tuple[str, str], _Queue] = {}
        self._subjects = SessionLogContexts()
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopping = False  # no turn begins any more; what waits is on disk

    def start(self, turn: Turn, message_id: str | None, content: str) -> None:
        """Begin a turn: a command at once, a question when its session is free.

        message_id: whose marks tell of it, see _Queued.
        """
        command = _command_in(turn, content)
        if turn.state == "answered":
            self._spawn(self._alone(turn), f"answer {turn.id}")
        else:
            self._begin(turn, command, message_id)

    def _begin(self, turn: Turn, command: ParsedCommand | None, message_id: str | None) -> None:
        if command is None or command.in_order:
            self._enqueue(turn, message_id, command)
        else:
            self._spawn(self._alone(turn, command), f"command {turn.id}")

    def _enqueue(
        self, turn: Turn, message_id: str | None, command: ParsedCommand | None = None
    ) -> None:
        key = (turn.persona, turn.scope)
        queue = self._queues.setdefault(key, _Queue())
        ahead = len(queue.waiting) + queue.working
        queue.waiting.append(_Queued(turn, command, message_id))
        trail = self._middle.trails.of(turn.id)
        trail.queued_ns = trail.now_ns()
        with log_context(log_context_of(turn)):
            log.info("turn.queued", turn=turn.id, persona=turn.speaker_name, ahead=ahead)
        self._publish(TurnChanged(views.turn_view(turn, message_id=message_id, ahead=ahead)))
        if self.stopping:
            return
        if not queue.working:
            queue.working = True
            self._spawn(self._work(key, queue), f"session {turn.persona} {turn.scope}")
        elif message_id is not None:
            place = self._middle.destination_of(turn)
            self._marks.waiting(turn.id, self._bots[turn.bot], place, message_id)

    async def _work(self, key: tuple[str, str], queue: _Queue) -> None:
        """Take a session's turns one after the other until there are none."""
        while queue.waiting and not self.stopping:
            queue.current = item = queue.waiting.popleft()
            turn = item.turn
            if item.command is None and item.message_id is not None:
                place = self._middle.destination_of(turn)
                self._marks.began(turn.id, self._bots[turn.bot], place, item.message_id)
            with self._subjects.take(turn):
                await self._begun(turn, item.command)
            self._marks.ended(turn.id, "failed")  # of a turn that didn't say so itself
            queue.current = None
        queue.working = False
        if not queue.waiting:
            del self._queues[key]

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, timeout_s: float) -> int:
        """Begin no turn any more, and wait for those that run; return how many still do then.

        What is accepted meanwhile waits on disk for the next start.
        """
        self.stopping = True
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=timeout_s)
        return len(self._tasks)

    async def withdraw(self, message_seq: int) -> None:
        """A message was deleted: its turns that wait are dropped, those that run are stopped."""
        for queue in list(self._queues.values()):
            gone = [item for item in queue.waiting if item.is_asked_by(message_seq)]
            for item in gone:
                queue.waiting.remove(item)
            running = queue.current
            if running is not None and running.is_asked_by(message_seq):
                await self._middle.withdraw(running.turn)
            for item in gone:
                await self._middle.drop(item.turn)

    async def _alone(self, turn: Turn, command: ParsedCommand | None = None) -> None:
        """A turn that waits for no other one."""
        with log_context(log_context_of(turn)):
            await self._guarded(turn, command)

    async def _begun(self, turn: Turn, command: ParsedCommand | None) -> None:
        """A turn that waited in its queue."""
        if (waited_s := self._middle.trails.of(turn.id).began()) is not None:
            log.info("turn.began", turn=turn.id, waited_ms=round(waited_s * 1000, 1))
            self._middle.waited(waited_s)
        await self._guarded(turn, command)

    async def _guarded(self, turn: Turn, command: ParsedCommand | None = None) -> None:
        """One turn; its failure is that session's alone."""
        try:
            if command is not None:
                return await self._command(turn, command)
            more = await self._middle.take_turn(turn)
        except Exception:  # a session's worker isolates whatever a turn raises
            log.exception("turn.crashed", turn=turn.id)
            if turn.state != "answered":
                await self._apologise(turn)
            return None
        for handed_over in more:
            self._middle.trails.of(handed_over.id).after = turn.id
            self._enqueue(handed_over, None)
        return None

    async def _apologise(self, turn: Turn) -> None:
        outcome = replace(turn, answer=CRASHED.format(turn.id), fault="crash")
        try:
            await self._middle.answer(outcome)
        except Exception:  # the store or the bot is what broke: the next start tries again
            log.exception("turn.lost", turn=turn.id)
            self._middle.trails.ended(outcome, "lost")

    async def _command(self, turn: Turn, command: ParsedCommand) -> None:
        asked = await self._transcript.get(turn.message_seq)
        if asked is None:
            return
        with StepTimer(self._middle.trails.of(turn.id))("command") as step:
            step.attributes["moot.command"] = command.entry.name if command.entry else "unknown"
            here = await self._here(turn, asked)
            text = await self._commands.run(command, turn, asked, here)
        alone = command.is_private and not stands(asked.message_id)
        private = {"only_for": asked.message_id} if alone else {}
        await self._middle.answer(replace(turn, answer=text, record=private))

    async def _here(self, turn: Turn, asked: StoredMessage) -> list[Persona]:
        """Whom a command means: the personas of the account that was addressed, or all of ours."""
        bot = self._bots[turn.bot]
        if asked.content.strip() == unaddressed(asked.content):
            here = [peer.persona for peer in await self._accounts.peers(turn.room, bot)]
        else:
            here = self._personas.of(bot.personas)
        here += self._personas.gone(self._at_work(turn))
        if not turn.room.is_shared:
            here = [p for p in here if p.name == turn.persona]
        return here

    def _at_work(self, turn: Turn) -> list[str]:
        """The names of those who work in a turn's room through its account."""
        running = (queue.current.turn for queue in self._queues.values() if queue.current)
        here = (one for one in running if (one.room.id, one.bot) == (turn.room.id, turn.bot))
        return list(dict.fromkeys(one.persona for one in here))

    async def recover(self) -> int:
        """Begin every turn that an earlier process left open; return how many."""
        turns = await self._ledger.open_turns()
        for turn in turns:
            if turn.bot not in self._bots:
                log.warning("turn.orphaned", turn=turn.id, bot=turn.bot)
                continue
            asked = await self._transcript.get(turn.message_seq)
            command = _command_in(turn, asked.content) if asked else None
            if asked and asked.deleted and turn.state != "answered" and command is None:
                await self._middle.drop(turn)
                continue
            if turn.state == "running":
                self._group.create_task(
                    self._middle.close_questions(turn), name=f"questions {turn.id}"
                )
            is_answer = asked is not None and asked.persona is not None
            if turn.state != "queued" or is_answer:  # an answer commands nothing
                command = None
            marked = asked is not None and not is_answer and stands(asked.message_id)
            self._begin(turn, command, asked.message_id if asked and marked else None)
        return len(turns)

    def waiting(self) -> int:
        """How many turns wait or run."""
        return sum(len(queue.waiting) + queue.working for queue in self._queues.values())

    def busy(self, persona: str, scope: str) -> bool:
        """Whether turns of a session wait or run."""
        return (persona, scope) in self._queues

    def queue(self, persona: str, scope: str) -> tuple[Turn | None, list[Turn]]:
        """What a session works on, and the turns that wait for it."""
        queue = self._queues.get((persona, scope))
        if queue is None:
            return None, []
        current = queue.current.turn if queue.current else None
        return current, [item.turn for item in queue.waiting]

    def ahead(self, turn: Turn) -> int:
        """How many turns of its session come before a waiting turn."""
        queue = self._queues.get((turn.persona, turn.scope))
        if queue is None:
            return 0
        ids = [item.turn.id for item in queue.waiting]
        return ids.index(turn.id) + queue.working if turn.id in ids else 0


def _command_in(turn: Turn, content: str) -> ParsedCommand | None:
    """What a turn carries out itself; None: its persona's agent is asked."""
    if turn.kind != "command":
        return None
    return parse_command(content, addressed=True) if turn.persona else ParsedCommand("pin")
