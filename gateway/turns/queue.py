"""One queue a session, and a worker while it has work: its agent has one question at a time. The
next one begins once an answer is stored, while that is posted."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Protocol

import structlog

from bots.kit.recent import Recent
from contract.chat import stands
from contract.language import speaking
from contract.turnstile import turnstile
from contract.values import dataclass
from contract.work import Work
from gateway.core.ledger import SessionKey, Turn
from gateway.core.log_context import SessionLogContexts, turn_log_context
from gateway.core.reading import Reading, reading_of
from gateway.core.sql_ledger import SqlLedger
from gateway.core.sql_rows import OPEN
from gateway.turns.progress import Succession, TurnProgress, TurnRun
from store.database import Store
from store.health import StoreRefusal
from store.leading import LeadLost
from store.patience import waiting
from store.transcript import Transcript

log = structlog.stdlib.get_logger("moot.rooms")

# While more messages than this are on their way to the disk, no more than a few turns are begun for
# a while: platforms want each acknowledged within seconds, and an agent takes its time anyway.
_CROWD, _FEW, _CROWD_S, _LOOK_S = 20, 4, 1.5, 0.05
_REMEMBERED = 1_000  # turns that ended


class Runner(Protocol):
    """Takes turns: `TurnRunner`, which makes turns in its turn, and so stands above the queues."""

    async def run(self, run: TurnRun) -> Sequence[Turn]:
        """Take one; return the turns that its answer hands over to."""

    async def apologise(self, run: TurnRun) -> None:
        """Taking it raised."""

    async def withdraw(self, run: TurnRun) -> None:
        """Stop one that runs: its message was deleted."""

    async def drop(self, run: TurnRun) -> None:
        """End one that waits: its message was deleted."""

    async def close_questions(self, run: TurnRun) -> None:
        """Close the questions of one that an earlier process took."""


@dataclass(slots=True)
class _Queue:
    """The turns of one session in their order. working: a worker takes them. current: the one
    that it took, until another one begins. waited: those that wait did so for a while."""

    waiting: deque[TurnRun] = field(default_factory=deque)
    working: bool = False
    waited: bool = False
    current: TurnRun | None = None

    def length(self) -> int:
        """Count the turns that wait or run. A worker that was just begun has taken none yet."""
        return len(self.waiting) + (self.current is not None)


class TurnQueues:
    """The sessions' queues and workers. They are made before who works: see `serve`."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        store: Store,
        ledger: SqlLedger,
        transcript: Transcript,
        progress: TurnProgress,
        bots: Collection[str],
    ) -> None:
        """bots: names; a turn of another one is left alone."""
        self._group = group
        self._store = store
        self._ledger = ledger
        self._transcript = transcript
        self._progress = progress
        self._bots = bots
        self._queues: dict[SessionKey, _Queue] = {}
        self._contexts = SessionLogContexts()
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun: set[str] = set()  # ids of turns that wait or run
        self._ended: Recent[str, None] = Recent(_REMEMBERED)
        self._taking_up = False
        self.coming = 0  # messages on their way to the disk
        self.stopping = False  # no turn begins any more; what waits is on disk

    def serve(self, runner: Runner, look: Callable[[TurnRun], Awaitable[None]]) -> None:
        """Take turns from now on. An answer makes turns, and commands look into the queues:
        who takes turns is made after them. look: asks what became of a turn's message meanwhile."""
        self._runner, self._look = runner, look

    def start(
        self,
        turn: Turn,
        message_id: str | None,
        reading: Reading | None = None,
        received_ns: int = 0,
    ) -> None:
        """Begin a turn: a command at once, a question when its session is free.

        message_id, reading: see TurnRun. received_ns: when its message came.
        """
        if turn.bot not in self._bots:
            return
        run = self._progress.run(turn, message_id, reading, received_ns)
        if turn.state != "answered":
            self._begin(run)
        elif self._is_new(turn):
            self._spawn(self._alone(run), f"answer {turn.id}")

    def _is_new(self, turn: Turn) -> bool:
        """True for the first who begins it: the ledger may tell of it as well."""
        if turn.id in self._begun or turn.id in self._ended:
            return False
        self._begun.add(turn.id)
        return True

    def _end(self, turn: Turn) -> None:
        self._begun.discard(turn.id)
        self._ended[turn.id] = None

    def _begin(self, run: TurnRun, *, waited: bool = False) -> None:
        turn = run.turn
        if not self._is_new(turn):
            return
        if run.command is not None and not run.command.in_order:
            self._spawn(self._alone(run), f"command {turn.id}")
            return
        run = replace(run, queued_ns=time.time_ns())
        key = turn.key
        queue = self._queues.get(key)
        ahead = queue.length() if queue is not None else 0
        if queue is None:
            queue = self._queues[key] = _Queue()
        queue.waiting.append(run)
        queue.waited = queue.waited or waited
        self._progress.queued(run, ahead)
        if self.stopping:
            return
        if not queue.working:
            queue.working = True
            self._spawn(self._work(key, queue), f"session {key.id}")
        elif queue.current is None or not queue.current.succession.pass_on():
            self._progress.waits(run)

    async def _work(self, key: SessionKey, queue: _Queue, before: Succession | None = None) -> None:
        """Take a session's turns one after the other until there are none. before: one that is
        posted yet."""
        if self.coming > _CROWD and len(self._queues) > _FEW:
            await self._let_pass()
        await turnstile("turns").through()
        while True:
            if queue.waiting and not self.stopping:
                mine = Succession(before, partial(self._begin_next, key, queue))
                queue.current = run = replace(queue.waiting.popleft(), succession=mine)
                try:
                    with self._contexts.take(run.turn):
                        self._progress.began(run)
                        await self._guarded(run, waited=queue.waited)
                finally:
                    mine.ended.set()
                if mine.passed_on:
                    return
                queue.current, queue.waited = None, True
            elif before is None:
                break
            if before is not None:
                await before.ended.wait()
                before = None
        queue.working = False
        if not queue.waiting:
            del self._queues[key]

    def _begin_next(self, key: SessionKey, queue: _Queue, posted: Succession) -> bool:
        """Another worker goes on with a session while this one posts an answer. False: nothing
        waits, or a command, which may be about that answer."""
        if self.stopping or not queue.waiting or queue.waiting[0].command is not None:
            return False
        queue.current, queue.waited = None, True
        self._spawn(self._work(key, queue, posted), f"session {key.id}")
        return True

    async def _let_pass(self) -> None:
        """Wait while messages crowd in, but not for long."""
        for _ in range(round(_CROWD_S / _LOOK_S)):
            await asyncio.sleep(_LOOK_S)
            if self.coming <= _CROWD:
                return

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
            gone = [run for run in queue.waiting if _is_asked_by(run, message_seq)]
            for run in gone:
                queue.waiting.remove(run)
            running = queue.current
            if running is not None and _is_asked_by(running, message_seq):
                await self._runner.withdraw(running)
            for run in gone:
                await self._runner.drop(run)
                self._end(run.turn)

    async def _alone(self, run: TurnRun) -> None:
        """A turn that waits for no other one."""
        with turn_log_context(run.turn):
            await self._guarded(run)

    async def _guarded(self, run: TurnRun, *, waited: bool = False) -> None:
        """One turn; its failure is that session's alone. It waits for a database that is away, and
        where that takes too long it is taken again afterwards. waited: its message may be gone by
        now, or say something else."""
        with waiting("some"):
            more = await self._taken(run, waited=waited)
            while more is None:
                run = await self._put_aside(run)
                more = await self._taken(run, waited=True) if run.turn.state in OPEN else ()
        self._end(run.turn)
        for handed_over in more:
            self._begin(self._progress.run(handed_over, after=run.turn.id))

    async def _taken(self, run: TurnRun, *, waited: bool) -> Sequence[Turn] | None:
        """Take a turn; return those that it hands over to. None: nothing could be stored."""
        turn = run.turn
        try:
            if waited:
                await self._look(run)
            with speaking(turn.language):
                return await self._runner.run(run)
        except StoreRefusal:
            return None
        except LeadLost:  # whoever leads now takes it
            self.stopping = True
            return ()
        except Exception:  # a session's worker isolates whatever a turn raises
            log.exception("turn.crashed", turn=turn.id)
            if turn.state != "answered":
                await self._apologise(run)
            self._progress.reactions.ended(turn.id, "failed")  # where nothing else could say so
            return ()

    async def _put_aside(self, run: TurnRun) -> TurnRun:
        """Wait until something is stored again; return the turn as it is on disk then."""
        log.warning("turn.put_aside", turn=run.turn.id)
        with waiting("all"):
            await self._store.health.recovery()
            turn = await self._ledger.turn(run.turn.id) or run.turn
            if turn.state == "running":
                await self._runner.close_questions(run)
            if turn.state != "answered" and run.succession.passed_on:
                run.succession.ended.set()  # it is asked again: the next one must not wait for it
        log.info("turn.taken_up", turn=turn.id, state=turn.state)
        return replace(run, turn=turn)

    async def _apologise(self, run: TurnRun) -> None:
        try:
            with speaking(run.turn.language):
                await self._runner.apologise(run)
        except Exception:  # the store or the bot is what broke: the next start tries again
            log.exception("turn.lost", turn=run.turn.id)
            self._progress.lost(run.turn, run.step.trace)

    async def recover(self) -> int:
        """Begin every turn that an earlier process left open; return how many."""
        turns = await self._ledger.open_turns()
        for turn in turns:
            if turn.bot not in self._bots:
                log.warning("turn.orphaned", turn=turn.id, bot=turn.bot)
                continue
            await self._recover(turn)
        return len(turns)

    def take_up(self) -> None:
        """Begin turns that are on disk and that nobody knows of: the database was away while their
        message was stored, and whoever stored it was told that it isn't."""
        if not self._taking_up and not self.stopping:
            self._taking_up = True
            self._group.create_task(self._take_up(), name="turns that nobody knows of")

    async def _take_up(self) -> None:
        try:
            with waiting("all"):
                for turn in await self._ledger.open_turns():
                    known = turn.id in self._begun or turn.id in self._ended
                    if turn.bot in self._bots and not known:
                        log.info("turn.taken_up", turn=turn.id, state=turn.state)
                        await self._recover(turn)
        finally:
            self._taking_up = False

    async def _recover(self, turn: Turn) -> None:
        asked = await self._transcript.get(turn.message_seq)
        is_answer = asked is not None and asked.persona is not None
        marked = asked is not None and not is_answer and stands(asked.message_id)
        message_id = asked.message_id if asked and marked else None
        reading = reading_of(asked) if asked else None
        run = self._progress.run(turn, message_id, reading)
        if asked and asked.deleted and turn.state != "answered" and turn.kind != "command":
            await self._runner.drop(run)
            return
        if turn.state == "running":
            self._group.create_task(self._runner.close_questions(run), name=f"questions {turn.id}")
        self._begin(run, waited=True)

    # ── What others ask of them ─────────────────────────────────────────────────────────

    def at_work(self, turn: Turn) -> list[str]:
        """The names of those who work in a turn's room through its account."""
        running = (queue.current.turn for queue in self._queues.values() if queue.current)
        here = (one for one in running if (one.room.id, one.bot) == (turn.room.id, turn.bot))
        return list(dict.fromkeys(one.persona for one in here))

    def waiting(self) -> int:
        """The number of turns that wait or run."""
        return sum(queue.length() for queue in self._queues.values())

    def behind(self) -> bool:
        """True while messages wait for the disk, or turns for others of their session or for
        anything else but their agents."""
        return self.coming > 0 or any(
            queue.waiting or (queue.current and not self._progress.with_agent(queue.current.turn))
            for queue in self._queues.values()
        )

    def busy(self, key: SessionKey) -> bool:
        """True while turns of a session wait or run."""
        return key in self._queues

    def queue(self, key: SessionKey) -> tuple[Turn | None, list[Turn]]:
        """The turn that a session works on, and those that wait for it."""
        queue = self._queues.get(key)
        if queue is None:
            return None, []
        current = queue.current.turn if queue.current else None
        return current, [run.turn for run in queue.waiting]

    def in_threads(self, key: SessionKey) -> list[SessionKey]:
        """The sessions of threads that are at work beside that of their scope."""
        if key.thread_id:
            return []
        at_work = (one for one, queue in self._queues.items() if queue.current is not None)
        return [one for one in at_work if one.thread_id and replace(one, thread_id="") == key]

    def work(self, turn: Turn) -> Work | None:
        """Its agent's work so far, as it may be shown; None: nothing yet."""
        return self._progress.works.get(turn.id)

    def ahead(self, turn: Turn) -> int:
        """The number of turns of its session that come before a waiting turn."""
        queue = self._queues.get(turn.key)
        if queue is None:
            return 0
        ids = [run.turn.id for run in queue.waiting]
        return ids.index(turn.id) + (queue.current is not None) if turn.id in ids else 0


def _is_asked_by(run: TurnRun, message_seq: int) -> bool:
    """True if the turn answers a message, and is no command in it."""
    return run.command is None and run.turn.message_seq == message_seq
