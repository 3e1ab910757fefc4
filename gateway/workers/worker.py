"""A worker: drives agents on this machine for a gateway elsewhere.

It opens sessions as the gateway does, with its own folders, sandboxes and logins, and knows neither
the database nor a platform. What it no longer has a lease for, it ends; while it is deaf, nothing
that it runs goes on.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tarfile
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from adapters.agent import Compacting, Undoing
from contract.errors import AgentError
from gateway.core.private_folders import LENT, SCOPES
from gateway.core.redaction import Redactor
from gateway.observability.telemetry import moot_version
from gateway.sessions.homes.packing import unpack
from gateway.sessions.opener import MemoryDoor, Opener
from gateway.sessions.sessions import LiveSession, session_folder
from gateway.workers.erasing import APART, erase
from gateway.workers.fence import END_S, STOP_S, go_on, stop
from gateway.workers.files import AWAY, HandedContents, fetch
from gateway.workers.held import HeldCalls
from gateway.workers.held_session import HeldSession, OneSession
from gateway.workers.link import Link
from gateway.workers.messages import (
    VERSION,
    Answered,
    Ask,
    Beat,
    BeatReply,
    Do,
    Done,
    FailureTold,
    FileHanded,
    Forget,
    OfSession,
    Open,
    ScopeGone,
    WantedOfAgent,
)
from gateway.workers.reply import RemoteReply

log = structlog.stdlib.get_logger("moot.workers")

BEAT_S = 0.25


class Worker:
    """Does what the gateway asks. door: makes a session's look into the memory, given its lease."""

    def __init__(
        self,
        *,
        link: Link,
        name: str,
        seats: int,
        opener: Opener,
        data_dir: Path,
        door: Callable[[OfSession], MemoryDoor],
        redactor: Redactor,
        workspaces: Sequence[Path] = (),
    ) -> None:
        """workspaces: that are configured here, resolved: they stay whatever is forgotten."""
        self.link, self.name, self.seats = link, name, seats
        self.opener, self.data_dir = opener, data_dir
        self.door, self.redactor = door, redactor
        self.workspaces = workspaces
        self.begun = asyncio.Event()  # set with each session that is held
        self._held: dict[str, HeldSession] = {}
        self._epochs: dict[str, int] = {}  # the newest of each session
        self._opening: dict[str, asyncio.Lock] = {}
        self._starting = 0
        self._term, self._gateway = 0, VERSION  # of whoever leads, and of its messages
        self._calls = HeldCalls()
        self._handed = HandedContents()
        self._release = moot_version()
        self._life = secrets.token_hex(8)
        self._heard_at = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: dict[asyncio.Task[None], Answered] = {}
        self._ends: set[asyncio.Task[None]] = set()

    def held(self) -> list[LiveSession]:
        """The sessions that live here, or whose program ended by itself."""
        return [held.live for held in self._held.values()]

    async def drain(self) -> None:
        """Take no session any more, and return when none works."""
        self.seats = 0
        log.info("worker.draining", sessions=len(self._held))
        while asking := {held.asking for held in self._held.values() if held.asking} & self._tasks:
            await asyncio.wait(asking)
        while self._sending:
            await asyncio.wait(self._sending)

    async def run(self) -> None:
        """Work until this is cancelled; every program has ended then."""
        to = f"moot.to.{self.name}"
        await self.link.hear(f"{to}.beat", self._hear_beat)
        await self.link.hear(f"{to}.open", self._hear_open)
        await self.link.hear(f"{to}.ask", self._hear_ask)
        await self.link.hear(f"{to}.do", self._hear_do)
        await self.link.hear(f"{to}.forget", self._hear_forget)
        await self.link.hear(f"{to}.hand", self._hear_hand)
        await asyncio.to_thread(shutil.rmtree, self.data_dir / APART, ignore_errors=True)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._beat(), name="beats")
                group.create_task(self._fence(), name="fence")
        finally:
            await self._calls.close()
            await self._end_all()
            if self._ends:
                await asyncio.wait(self._ends)
            for task in self._tasks:
                task.cancel()

    def _spawn(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ── Signs of life ───────────────────────────────────────────────────────────────────

    async def _beat(self) -> None:
        while True:
            lives = {name: one for name, one in self._held.items() if one.live.agent.alive()}
            sent = {one.session: one.turn for one in self._sending.values()}
            now = time.monotonic()
            beat = Beat(
                at=now,
                life=self._life,
                version=VERSION,
                seats=self.seats,
                sessions={name: one.lease.epoch for name, one in lives.items()},
                turns=sent | {name: one.turn for name, one in lives.items() if one.works()},
                release=self._release,
                clock=time.time(),
            )
            await self.link.say(f"moot.from.{self.name}.beat", beat.encoded())
            await asyncio.sleep(BEAT_S)

    async def _hear_beat(self, _subject: str, data: bytes) -> None:
        reply = BeatReply.model_validate_json(data)
        if not self._serves(reply.term):
            return
        if reply.version not in (self._gateway, VERSION, 0):
            log.warning("gateway.other_version", version=reply.version, own=VERSION)
        self._gateway = reply.version
        for name, epoch in reply.gone.items():
            held = self._held.get(name)
            if held is not None and held.lease.epoch == epoch:
                await self._end(held)
        # as of when it was asked: a reply may have waited here while this process was stopped
        self._heard_at = max(self._heard_at, min(reply.at, time.monotonic()))

    def _serves(self, term: int) -> bool:
        """True unless it is said by a gateway after which another one began: it was stopped, and
        doesn't know yet."""
        self._term = max(self._term, term)
        return term == self._term

    async def _fence(self) -> None:
        """Stop what runs here while nobody is heard, and end it before another may have it."""
        stopped = False
        while True:
            silent_s = time.monotonic() - self._heard_at
            if silent_s > END_S and self._held:
                log.warning("worker.deaf", did="ended its programs", silent_s=round(silent_s))
                self._life, stopped = secrets.token_hex(8), False
                await self._end_all()
            elif silent_s > STOP_S and self._held:
                if not stopped:
                    log.warning("worker.deaf", did="stopped its programs")
                stopped = True
                await asyncio.to_thread(stop, self._pids())
            elif stopped:
                stopped = False
                await asyncio.to_thread(go_on, self._pids())
            await asyncio.sleep(BEAT_S)

    def _pids(self) -> list[int]:
        alive = [live.agent.pid for live in self.held() if live.agent.alive()]
        return [pid for pid in alive if pid is not None]

    # ── Opening and closing ─────────────────────────────────────────────────────────────

    async def _hear_open(self, _subject: str, data: bytes) -> bytes:
        wanted = Open.model_validate_json(data)

        async def begin() -> bytes:
            return (await self._open(wanted)).encoded()

        name = f"open {wanted.session} {wanted.epoch} {wanted.term}"
        return await self._calls.result(name, begin)

    async def _open(self, wanted: Open) -> Done:
        session, epoch = wanted.session, wanted.epoch
        if epoch < self._epochs.get(session, 0) or not self._serves(wanted.term):
            return Done.fenced(wanted)
        if wanted.adopts:
            lives = self._of(wanted)
            return lives.adopted(wanted) if lives is not None else Done.fenced(wanted)
        self._epochs[session] = epoch
        async with self._opening.setdefault(session, asyncio.Lock()):
            if (old := self._held.get(session)) is not None:
                await self._end(old)
            if len(self._held) + self._starting >= self.seats:
                return Done(session=session, epoch=epoch, word="full")
            self._starting += 1
            try:
                held = await self._started(wanted)
            except AgentError as error:
                return Done(
                    session=session, epoch=epoch, fault=FailureTold.of(error, self.redactor)
                )
            finally:
                self._starting -= 1
            self._held[session] = held
            self.begun.set()
            if self._epochs[session] != epoch:
                await self._end(held)
                return Done.fenced(wanted)
        return held.opened()

    async def _started(self, wanted: Open) -> HeldSession:
        """Raises AgentError."""
        lease, key = OfSession(session=wanted.session, epoch=wanted.epoch), wanted.key()
        door = self.door(lease) if wanted.memory else None
        opener, gone = self.opener.lending(OneSession(wanted.resumes), door), None
        if wanted.apart:
            gone = self.data_dir / APART / wanted.session
            opener = opener.apart(gone)
        elif wanted.home:
            home = self.data_dir / SCOPES / session_folder(key) / "home"
            try:
                keeps = opener.programs(wanted.whose().front.agent).keeps
                await asyncio.to_thread(unpack, b64decode(wanted.home), home, keeps)
            except (OSError, tarfile.TarError, ValueError) as error:
                log.warning("home.not_unpacked", error=type(error).__name__)
        live = await opener.open(wanted.whose(), key, wanted.room)

        async def close() -> None:
            await opener.close(live)
            if gone is not None:
                await asyncio.to_thread(shutil.rmtree, gone, ignore_errors=True)

        return HeldSession(lease, live, close)

    async def _end(self, held: HeldSession) -> None:
        if self._held.get(held.lease.session) is not held:
            return
        del self._held[held.lease.session]
        for task in (held.asking, held.seeing):
            if task is not None:
                task.cancel()
        ending = asyncio.create_task(held.close(), name="end session")
        self._ends.add(ending)
        ending.add_done_callback(self._ends.discard)
        await asyncio.shield(ending)  # whoever is cancelled here: its program ends

    async def _end_all(self) -> None:
        await asyncio.gather(*(self._end(held) for held in list(self._held.values())))

    # ── Turns ───────────────────────────────────────────────────────────────────────────

    def _of(self, said: OfSession) -> HeldSession | None:
        """The session, if it is said of the lease that it lives under."""
        held = self._held.get(said.session)
        return held if held is not None and held.lease.epoch == said.epoch else None

    def _ordered(self, said: Ask | Do) -> HeldSession | None:
        """The same of an order: unless another gateway began after the one that gives it."""
        return self._of(said) if said.term == 0 or self._serves(said.term) else None

    async def _hear_ask(self, _subject: str, data: bytes) -> bytes:
        wanted = Ask.model_validate_json(data)
        held = self._ordered(wanted)
        if held is None:
            return Done.fenced(wanted).encoded()
        if held.turn != wanted.turn:
            held.turn = wanted.turn
            before = held.asking
            asking = asyncio.create_task(self._ask(held, wanted, before), name="ask")
            held.asking = self._spawn(asking)
        return Done(session=wanted.session, epoch=wanted.epoch).encoded()

    async def _ask(self, held: HeldSession, wanted: Ask, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            before.cancel()  # the gateway asks one at a time: it has given that one up
            await asyncio.wait({before})
        agent, answer, fault = held.live.agent, None, None
        await fetch(self.link, self.name, wanted, wanted.files, held.live.folder / LENT)
        async with RemoteReply.open(self.link, self.name, wanted, self.redactor) as reply:
            try:
                answer = self.redactor.clean(await agent.ask(wanted.prompt, reply))
            except AgentError as error:
                fault = FailureTold.of(error, self.redactor)
        ended = Answered(
            session=wanted.session,
            epoch=wanted.epoch,
            turn=wanted.turn,
            answer=answer,
            fault=fault,
            agent=agent.session_id,
            alive=agent.alive(),
            home=await held.record(),
        )
        sending = self.link.log(self.name, f"{wanted.turn}:{wanted.epoch}", ended.encoded())
        task = self._spawn(asyncio.create_task(sending, name="answer"))  # also when this one ends
        self._sending[task] = ended
        task.add_done_callback(self._sending.pop)

    async def _hear_hand(self, _subject: str, data: bytes) -> bytes:
        wanted = WantedOfAgent.model_validate_json(data)
        held = self._of(wanted)
        if held is None:
            return FileHanded(refused=AWAY).encoded()
        return (await self._handed.piece(held.live, wanted, self.redactor)).encoded()

    async def _hear_do(self, _subject: str, data: bytes) -> bytes:
        wanted = Do.model_validate_json(data)

        async def begin() -> bytes:
            return (await self._do(wanted)).encoded()

        name = f"do {wanted.session} {wanted.epoch} {wanted.term} {wanted.number}"
        return await self._calls.result(name, begin)

    async def _do(self, wanted: Do) -> Done:
        session, epoch, text, fault = wanted.session, wanted.epoch, "", None
        held = self._ordered(wanted)
        if held is None:
            return Done.fenced(wanted)
        try:
            text = await self._done(held, wanted)
        except AgentError as error:
            fault = FailureTold.of(error, self.redactor)
        agent = held.live.agent
        return Done(session=session, epoch=epoch, fault=fault, text=text, agent=agent.session_id)

    async def _done(self, held: HeldSession, wanted: Do) -> str:
        """Raises AgentError."""
        agent = held.live.agent
        match wanted.act:
            case "interrupt":
                await agent.interrupt()
            case "cancel" if held.asking is not None and held.turn == wanted.turn:
                held.asking.cancel()
            case "compact" if isinstance(agent, Compacting):
                await agent.compact()
            case "undo" if isinstance(agent, Undoing):
                return await agent.undo()
            case "close":
                await self._end(held)
            case "watch":
                if held.watched():
                    showing = held.show(self.link, self.name)
                    held.seeing = self._spawn(asyncio.create_task(showing, name="terminal"))
        return ""

    # ── Erasure ─────────────────────────────────────────────────────────────────────────

    async def _hear_forget(self, _subject: str, data: bytes) -> bytes:
        wanted = Forget.model_validate_json(data)
        if not self._serves(wanted.term):
            return ScopeGone().encoded()

        async def begin() -> bytes:
            return ScopeGone(gone=await self._forget(wanted)).encoded()

        name = f"forget {wanted.scope} {wanted.at} {wanted.whole}"
        return await self._calls.result(name, begin)

    async def _forget(self, wanted: Forget) -> bool:
        """Delete what there is of a scope; False: something is left, or it can't be told."""
        scope = wanted.scope
        for held in [one for one in self._held.values() if one.lease.scope_digest == scope]:
            await self._end(held)
        for task, answered in list(self._sending.items()):
            if answered.scope_digest == scope:
                task.cancel()
        try:
            await asyncio.to_thread(erase, self.data_dir, wanted, self.workspaces)
        except OSError as error:
            log.warning("scope.not_forgotten", error=type(error).__name__)
            return False
        log.info("scope.forgotten", worker=self.name, whole=wanted.whole)
        return True
