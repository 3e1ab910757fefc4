"""Sessions whose programs run on workers, as the gateway opens and asks them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import structlog

from adapters.agent import Reply
from contract.agent import GONE, Answer
from contract.errors import AgentError, MachineLost
from contract.values import dataclass
from gateway.workers.answers import Answers
from gateway.workers.files import FilesOfWorker, FilesThere, GivenFiles
from gateway.workers.fleet import Fleet
from gateway.workers.held import HeldCalls, call
from gateway.workers.link import Link
from gateway.workers.messages import (
    Act,
    Answered,
    Ask,
    ChoiceMade,
    Do,
    Done,
    DraftShown,
    FileWanted,
    Memory,
    Message,
    OfSession,
    Open,
    QuestionPut,
    Remembered,
    TerminalShown,
)

log = structlog.stdlib.get_logger("moot.workers")

CLOSE_S = 15.0  # a program may take 10 s to end
Look = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
Rows = Sequence[Sequence[tuple[str, str]]]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class GatewaySide:
    """What a session on a worker needs of the gateway. look: answers its program's questions about
    its memory; None: it asks none."""

    link: Link
    fleet: Fleet
    answers: Answers
    calls: HeldCalls
    look: Look | None = None


class NoSeat(Exception):
    """The worker did not take a session: it is full, or has a newer lease."""


class RemoteAgent:
    """One session on a worker: an `Agent`."""

    pid: int | None = None

    def __init__(self, place: GatewaySide, session: str, worker: str, epoch: int) -> None:
        self.session, self.worker, self.epoch = session, worker, epoch
        self.life = place.fleet.workers[worker].life
        self.session_id: str | None = None
        self.resumed = self.otherwise = False
        self._place = place
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._alive, self._left = True, False
        self._numbers = itertools.count(1)
        self._turn = ""
        self._reply: Reply | None = None
        self._shown = 0
        self._rows: Rows = ()
        self.files: FilesThere | None = None
        self.workspace = Path()
        self._given = GivenFiles()
        self._watching: asyncio.Task[None] | None = None
        place.fleet.let(session, self)

    # ── What the gateway asks of it ─────────────────────────────────────────────────────

    async def open(self, wanted: Open) -> None:
        """Start it. Raises AgentError, NoSeat; the lease is over then."""
        try:
            done = Done.model_validate_json(await self._call("open", wanted))
            if done.fault is not None:
                raise done.fault.error()
            if done.word != "done":
                raise NoSeat(done.word)
        except BaseException:
            self._end()
            raise
        self.session_id, self.resumed = done.agent, done.resumed
        self.otherwise = done.otherwise
        self.workspace = Path(done.workspace)
        if done.files:
            self.files = FilesThere(done.files)

    async def ask(self, prompt: str, reply: Reply) -> Answer:
        """See `Agent.ask`."""
        occasion = reply.occasion
        turn = occasion.turn or secrets.token_hex(8)
        named = self.files.take() if self.files is not None else {}
        wanted = Ask(
            session=self.session,
            epoch=self.epoch,
            turn=turn,
            term=self._place.fleet.term,
            prompt=prompt,
            context=occasion.context,
            small_talk=occasion.small_talk,
            files=tuple(await asyncio.to_thread(self._given.give, named)) if named else (),
        )
        self._turn, self._reply, self._shown = turn, reply, 0
        waiting = self._place.answers.wait(turn)
        try:
            if waiting.done():  # an earlier process asked for it
                return self._ended(waiting.result())
            began_at = time.perf_counter()
            done = Done.model_validate_json(await self._call("ask", wanted))
            self._place.fleet.hop(time.perf_counter() - began_at)
            if done.word != "done":
                self.lost()
            return self._ended(await self._unless_gone(waiting))
        except asyncio.CancelledError:
            if self._place.fleet.leaves:
                self._left = True
            else:
                self._do_soon("cancel", turn)
            raise
        finally:
            self._place.answers.leave(turn, waiting)
            self._turn, self._reply, self._given = "", None, GivenFiles()

    def _ended(self, answered: Answered) -> Answer:
        """Raises AgentError."""
        if (answered.session, answered.epoch) == (self.session, self.epoch):
            self.session_id, self._alive = answered.agent, answered.alive
        if answered.fault is not None:
            raise answered.fault.error()
        return answered.answer or Answer("")

    async def interrupt(self) -> None:
        """See `Agent.interrupt`."""
        with contextlib.suppress(MachineLost):
            await self._do("interrupt")

    async def compact(self) -> None:
        """See `Compacting`."""
        await self._do("compact")

    async def undo(self) -> str:
        """See `Undoing`."""
        return (await self._do("undo")).text

    async def close(self) -> None:
        """See `Agent.close`; what works as the gateway ends is left to the next one."""
        if not (self._left or (self._turn and self._place.fleet.leaves)):
            with contextlib.suppress(AgentError, TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._do("close")
        self._end()

    def alive(self) -> bool:
        """See `Agent.alive`."""
        return self._alive and not self._gone.done()

    def picture(self) -> Rows:
        """See `Agent.picture`; as it was when it was sent last."""
        if self.alive() and (self._watching is None or self._watching.done()):
            self._watching = self._do_soon("watch")
        return self._rows

    def lost(self) -> None:
        """See `Lessee`."""
        log.warning("session.lost", worker=self.worker, session=self.session)
        self._end()

    def _end(self) -> None:
        self._place.fleet.end(self.session, self)
        if not self._gone.done():
            self._gone.set_result(None)

    def handed(self) -> FilesOfWorker:
        """The files that its program may hand over."""
        lease = OfSession(session=self.session, epoch=self.epoch)
        return FilesOfWorker(lease, lambda wanted: self._call("hand", wanted))

    async def _do(self, act: Act, turn: str = "") -> Done:
        """Raises AgentError."""
        number = next(self._numbers)
        wanted = Do(
            session=self.session,
            epoch=self.epoch,
            act=act,
            term=self._place.fleet.term,
            number=number,
            turn=turn,
        )
        done = Done.model_validate_json(await self._call("do", wanted))
        if done.word == "fenced" and act != "close":
            self.lost()
            raise MachineLost(self.worker)
        if done.fault is not None:
            raise done.fault.error()
        return done

    def _do_soon(self, act: Act, turn: str = "") -> asyncio.Task[None]:
        async def do() -> None:
            with contextlib.suppress(AgentError):
                await self._do(act, turn)

        return self._place.fleet.spawn(do(), f"{act} {self.worker}")

    async def _call(self, what: str, said: Message) -> bytes:
        """Raises MachineLost."""
        subject = f"moot.to.{self.worker}.{what}"
        return await self._unless_gone(call(self._place.link, subject, said.encoded()))

    async def _unless_gone(self, work: Awaitable[_T]) -> _T:
        """Raises MachineLost."""
        doing = asyncio.ensure_future(work)
        try:
            either: set[asyncio.Future[Any]] = {doing, self._gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            raise MachineLost(self.worker)
        finally:
            doing.cancel()

    # ── What it tells the gateway ───────────────────────────────────────────────────────

    def shown(self, shown: DraftShown) -> None:
        """A draft, or its work: unless a newer one was seen."""
        if self._reply is None or shown.turn != self._turn or shown.number <= self._shown:
            return
        self._shown = shown.number
        if shown.text is not None:
            self._reply.draft(shown.text)
        if shown.work is not None:
            self._reply.work(shown.work)

    async def asked(self, asked: QuestionPut) -> bytes | None:
        """It asks the room."""
        reply, name = self._reply, f"choose {self.session} {asked.turn} {asked.question.id}"
        if reply is None or asked.turn != self._turn:
            return None
        if asked.gone:
            self._place.calls.cancel(name, GONE)
            return None

        async def choose() -> bytes:
            return ChoiceMade(option=await reply.choose(asked.question)).encoded()

        return await self._place.calls.result(name, choose)

    async def gives(self, wanted: FileWanted) -> bytes:
        """It asks for a piece of a file of its turn."""
        return (await asyncio.to_thread(self._given.piece, wanted)).encoded()

    async def remembers(self, wanted: Memory) -> bytes | None:
        """It asks for its memory."""
        look = self._place.look
        if look is None:
            return None

        async def begin() -> bytes:
            return Remembered(payload=await look(wanted.payload)).encoded()

        name = f"memory {self.session} {self.epoch} {wanted.number}"
        return await self._place.calls.result(name, begin)

    def seen(self, seen: TerminalShown) -> None:
        """Its terminal."""
        self._rows = seen.rows


class Ear:
    """Hears what workers say of their sessions, and hands it to these: what is void, to nobody."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def listen(self, link: Link) -> None:
        """Hear them as long as there is the link."""
        for what, hear in (
            ("shown", self._shown),
            ("asked", self._asked),
            ("memory", self._memory),
            ("seen", self._seen),
            ("file", self._file),
        ):
            await link.hear(f"moot.from.*.{what}", hear)

    def _of(self, subject: str, said: OfSession) -> RemoteAgent | None:
        """Who said it, under a lease that holds."""
        worker = subject.split(".")[2]
        if not self._fleet.has(worker, said.session, said.epoch):
            return None
        lessee = self._fleet.leases[said.session]
        return lessee if isinstance(lessee, RemoteAgent) else None

    async def _shown(self, subject: str, data: bytes) -> None:
        shown = DraftShown.model_validate_json(data)
        if (agent := self._of(subject, shown)) is not None:
            agent.shown(shown)

    async def _asked(self, subject: str, data: bytes) -> bytes | None:
        asked = QuestionPut.model_validate_json(data)
        agent = self._of(subject, asked)
        return None if agent is None else await agent.asked(asked)

    async def _memory(self, subject: str, data: bytes) -> bytes | None:
        wanted = Memory.model_validate_json(data)
        agent = self._of(subject, wanted)
        return None if agent is None else await agent.remembers(wanted)

    async def _file(self, subject: str, data: bytes) -> bytes | None:
        wanted = FileWanted.model_validate_json(data)
        agent = self._of(subject, wanted)
        return None if agent is None else await agent.gives(wanted)

    async def _seen(self, subject: str, data: bytes) -> None:
        seen = TerminalShown.model_validate_json(data)
        if (agent := self._of(subject, seen)) is not None:
            agent.seen(seen)
