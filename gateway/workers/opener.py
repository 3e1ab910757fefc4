"""Opens sessions on workers: those that run a program. One with an API stays with the gateway."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import structlog

from contract.chat import Room
from contract.errors import AgentError, MachineLost
from contract.language import later
from contract.values import dataclass
from gateway.core.ledger import SessionKey
from gateway.files.store import FileStoreFailed
from gateway.mcp.endpoint import McpEndpoint, McpGrant
from gateway.sessions.homes.records import record_of
from gateway.sessions.opener import KnownSessions, NoSessions, Opener
from gateway.sessions.sessions import AgentProgram, LiveSession, SessionContext
from gateway.settings.personas.personas import Persona
from gateway.workers.answers import Answers
from gateway.workers.credentials import GATEWAY
from gateway.workers.erasure_rows import BROKER
from gateway.workers.erasures import Erasures
from gateway.workers.fleet import Fleet
from gateway.workers.held import HeldCalls
from gateway.workers.link import Link, LinkDown
from gateway.workers.messages import Beat, Open, scope_of
from gateway.workers.remote import Ear, GatewaySide, Look, NoSeat, RemoteAgent
from store.health import StoreRefusal

log = structlog.stdlib.get_logger("moot.workers")

AGAIN_S = 1.0
LOOK_S = 0.25
PATIENCE_S = 60.0  # for a seat, or for a broker that is away
NONE_THERE = later("No worker has a free seat for me now: ask again later.")
END_S = 3.0  # to let the workers go; the next gateway tells them what is left
Connects = Callable[[], AbstractAsyncContextManager[Link]]


@dataclass(slots=True)
class Workers:
    """The gateway's side of all workers: connected for ever, and what is said is taken in."""

    fleet: Fleet
    answers: Answers
    erasures: Erasures | None = None
    calls: HeldCalls = field(default_factory=HeldCalls)
    link: Link | None = None
    spare: Callable[[Callable[[LiveSession], bool]], None] = lambda those: None

    @classmethod
    def make(cls, lost_s: float, erasures: Erasures | None = None) -> Workers:
        """Nobody is connected yet. erasures: None where there is no database."""
        fleet = Fleet(lost_s)
        workers = cls(fleet, Answers(fleet.has), erasures)
        workers.answers.erased = lambda worker, scope: worker in workers.erased_at(scope)
        fleet.is_left = workers.answers.is_left
        return workers

    def waits(self, turn: str) -> bool:
        """True if a turn that an earlier process asked need not be asked again: its answer is here,
        or a worker works on it still."""
        return self.answers.waits(turn) or self.fleet.works(turn)

    def side(self, link: Link, look: Look | None) -> GatewaySide:
        """A session's part of the gateway. look: answers its program's questions about its
        memory."""
        return GatewaySide(link, self.fleet, self.answers, self.calls, look)

    def serve(
        self,
        resize: Callable[[int], None],
        end_scope: Callable[[str], None],
        spare: Callable[[Callable[[LiveSession], bool]], None],
    ) -> None:
        """Tell a pool of sessions the number of seats, which scopes have to end there, and of which
        sessions one has to."""
        self.fleet.changed, self.spare = resize, spare
        if self.erasures is not None:
            self.erasures.end = end_scope

    def spare_one(self, among: Collection[str]) -> bool:
        """Have a session end that holds a seat of some workers and that nobody uses; False: none of
        them is there."""
        self.spare(lambda live: isinstance(live.agent, RemoteAgent) and live.agent.worker in among)
        return any(map(self.fleet.hears_of, among))

    def erased_at(self, scope_digest: str) -> set[str]:
        """The places that still have what is to go of a scope."""
        return self.erasures.places(scope_digest) if self.erasures is not None else set()

    @asynccontextmanager
    async def linked(self) -> AsyncIterator[Link]:
        """The connection. Raises LinkDown."""
        if self.link is None:
            raise LinkDown("the broker")
        yield self.link

    async def run(self, connects: Connects) -> None:
        """Connect, and listen, for ever."""
        async with connects() as link:
            while True:
                try:
                    await link.prepare()
                    await link.drop_old_records()
                    self.fleet.term = await link.lease(GATEWAY, GATEWAY)
                    if self.erasures is not None:
                        await self.erasures.begin()
                    break
                except (LinkDown, StoreRefusal) as error:
                    log.warning("link.not_ready", reason=str(error))
                    await asyncio.sleep(AGAIN_S)
            await Ear(self.fleet).listen(link)
            await link.hear("moot.from.*.beat", self._beaten)
            self.link = link
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.fleet.watch(link), name="silent workers")
                    answers = self.answers.take(link, self.fleet.term)
                    group.create_task(answers, name="workers' answers")
                    if self.erasures is not None:
                        erasing = self.erasures.run(link, self.fleet, self.answers)
                        group.create_task(erasing, name="erasures on workers")
            finally:
                self.link = None
                closing = [one.close() for one in list(self.fleet.leases.values())]
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(END_S):
                        await asyncio.gather(*closing)
                await self.calls.close()

    async def _beaten(self, subject: str, data: bytes) -> None:
        worker = subject.split(".")[2]
        reply = self.fleet.beaten(worker, Beat.model_validate_json(data))
        if self.link is not None:
            await self.link.say(f"moot.to.{worker}.beat", reply.encoded())

    def programs(self, known: Callable[[str], AgentProgram]) -> Callable[[str], AgentProgram]:
        """The programs as they are there: whether one is installed, a worker knows."""

        def program(name: str) -> AgentProgram:
            found = known(name)
            return replace(found, available=True) if found.runs else found

        return program


class RemoteOpener:
    """Opens sessions on workers. local: opens those that run none, and so many of the others.
    pools: workers by the names that personas choose."""

    def __init__(
        self,
        *,
        workers: Workers,
        local: Opener,
        local_seats: int,
        ledger: KnownSessions,
        clock: Callable[[], datetime],
        door: McpEndpoint | None,
        pools: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self.programs = workers.programs(local.programs)
        self._workers = workers
        self._local = local
        self._local_seats = local_seats
        self._ledger = ledger
        self._clock = clock
        self._door = door
        self._pools = pools
        self._apart = False
        self._here: set[int] = set()  # ids of the sessions with a program in this process

    def apart(self, data_dir: Path) -> RemoteOpener:
        """See SessionOpener; a worker's folder for it is its own matter."""
        other = copy(self)
        other._local = self._local.apart(data_dir)
        other._apart, other._ledger, other._door = True, NoSessions(), None
        return other

    async def open(self, persona: Persona, key: SessionKey, room: Room) -> LiveSession:
        """See SessionOpener."""
        program = self.programs(persona.front.agent)
        if not program.runs:
            return await self._local.open(persona, key, room)
        apart = secrets.token_hex(4) if self._apart else ""
        session = f"{record_of(key)}{apart}"
        until, tried = time.monotonic() + PATIENCE_S, frozenset[str]()
        pool = persona.front.workers
        among = None if pool is None else frozenset(self._pools.get(pool, ()))
        while True:
            await self._look_back(session)
            if self._workers.fleet.expects(session):
                await asyncio.sleep(LOOK_S)
                continue
            link, worker = self._workers.link, self._place(session, tried, among)
            if link is not None and worker is not None:
                try:
                    return await self._opened(link, session, worker, persona, key, room)
                except (NoSeat, MachineLost, LinkDown, FileStoreFailed) as error:
                    log.info("session.not_placed", worker=worker, reason=str(error))
                    tried |= {worker}
                    continue
            if among is None and len(self._here) < self._local_seats:
                live = await self._local.open(persona, key, room)
                self._here.add(id(live))
                return live
            if among is not None and self._workers.spare_one(among):
                until = time.monotonic() + PATIENCE_S  # another one's turn ends, or it is stopped
            if time.monotonic() > until:
                raise AgentError("startup", "no worker has a free seat", say=NONE_THERE)
            await asyncio.sleep(LOOK_S)  # the pool gave it a place: one is about to be free
            tried = frozenset()

    async def _look_back(self, session: str) -> None:
        """Learn where a session was before this gateway began: its folders are there."""
        link, fleet = self._workers.link, self._workers.fleet
        if link is not None and not fleet.knows(session) and not self._apart:
            with contextlib.suppress(LinkDown):
                if (lease := await link.last_lease(session)) is not None:
                    fleet.was(session, *lease)

    def _place(self, session: str, but: frozenset[str], among: frozenset[str] | None) -> str | None:
        """The worker for a session: where it works still, if anywhere; None: none has a seat, or
        what is erased of its scope is not gone yet."""
        erased, fleet = self._workers.erased_at(scope_of(session)), self._workers.fleet
        if (left := fleet.left.get(session)) is not None and not erased:
            return left.worker
        return None if BROKER in erased else fleet.place(session, but | erased, among)

    async def _opened(
        self, link: Link, session: str, worker: str, persona: Persona, key: SessionKey, room: Room
    ) -> LiveSession:
        """Raises AgentError, NoSeat, LinkDown, FileStoreFailed."""
        grant, door, workers = McpGrant(key.persona, key.scope), self._door, self._workers
        left = workers.fleet.left.get(session)
        epoch = left.epoch if left is not None else await link.lease(session, worker)
        program = self.programs(persona.front.agent)
        look = door.receiver(grant) if door is not None else None
        resumes = await self._ledger.agent_session(key, program.name)
        agent = RemoteAgent(workers.side(link, look), session, worker, epoch)
        wanted = Open(
            session=session,
            epoch=epoch,
            term=workers.fleet.term,
            **_whose(persona, key),
            room=room,
            resumes=resumes,
            memory=look is not None,
            apart=self._apart,
            adopts=left is not None,
        )
        await self._begin(agent, wanted)
        if look is not None:
            grant.files = agent.handed()
        now, confined = self._clock(), agent.files is not None
        return LiveSession(
            key,
            room,
            agent,
            SessionContext(program, files=agent.files, confined=confined),
            started_at=now,
            used_at=now,
            workspace=agent.workspace,
            kept=resumes,
            admission=grant,
            began_as=() if agent.otherwise else persona.start,
            worker=worker,
        )

    async def _begin(self, agent: RemoteAgent, wanted: Open) -> None:
        """Start or resume it, or go on with it. Raises AgentError, NoSeat, FileStoreFailed."""
        if wanted.adopts:
            await agent.open(wanted)
            log.info("session.adopted", persona=wanted.persona, worker=agent.worker)
            return
        home = await self._workers.answers.home(wanted.session) if wanted.resumes else ""
        await agent.open(wanted.model_copy(update={"home": home}))
        log.info(
            "session.opened", persona=wanted.persona, worker=agent.worker, resumed=agent.resumed
        )

    async def forget(self, scope: str, but: Collection[Path] = ()) -> tuple[str, ...]:
        """See SessionOpener."""
        here = await self._local.forget(scope, but)
        erasures = self._workers.erasures
        there = await erasures.forget(scope) if erasures is not None else ()
        return tuple(dict.fromkeys((*here, *there)))

    def keep_record(self, live: LiveSession) -> None:
        """See SessionOpener; that of a worker's session comes with its answer."""
        if not live.worker:
            self._local.keep_record(live)

    def drop_record(self, key: SessionKey) -> None:
        """See SessionOpener."""
        self._local.drop_record(key)

    async def close(self, live: LiveSession) -> None:
        """See SessionOpener."""
        if not isinstance(live.agent, RemoteAgent):
            self._here.discard(id(live))
            await self._local.close(live)
            return
        if self._door is not None:
            self._door.close(live.admission)
        await live.agent.close()


def _whose(persona: Persona, key: SessionKey) -> dict[str, Any]:
    """A persona and its session, as values of `Open`."""
    return {
        "persona": persona.name,
        "front": persona.front.model_dump(mode="json", exclude_defaults=True, exclude={"workers"}),
        "body": persona.body,
        "mode": persona.mode,
        "scope": key.scope,
        "thread_id": key.thread_id,
    }
