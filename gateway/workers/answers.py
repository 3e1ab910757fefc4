"""The answers that workers put on disk at the broker, until the ledger has them."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Collection
from dataclasses import field

import structlog

from bots.kit.recent import Recent
from contract.errors import MootError
from contract.values import dataclass
from gateway.core.events import AppEvent, TurnChanged
from gateway.sessions.homes.records import Records
from gateway.workers.link import Link, Logged
from gateway.workers.messages import Answered

log = structlog.stdlib.get_logger("moot.workers")

OWN = 5000  # turns that this process asked or ended
EARLY_S = 600.0  # an answer to a question that this process has not asked

Valid = Callable[[str, str, int], bool]


@dataclass(slots=True)
class Answers:
    """Hands each answer to the turn that waits for it, and is done with it when that is on record.

    valid: whether a worker has a session under an epoch. An answer to a question that an earlier
    process asked is kept for when its turn is taken up; to any other that is not valid, it is void.
    erased: whether a worker still has what is to go of a scope, by its digest: what it says of that
    is void. records: of sessions, as they come with answers.
    """

    valid: Valid
    erased: Callable[[str, str], bool] = lambda worker, scope_digest: False
    records: Records | None = None
    _waiting: dict[str, asyncio.Future[Answered]] = field(default_factory=dict)  # by turn
    _early: dict[str, Answered] = field(default_factory=dict)
    _own: Recent[str, None] = field(default_factory=lambda: Recent(OWN))
    _unsettled: dict[str, Logged] = field(default_factory=dict)
    _tasks: set[asyncio.Future[None]] = field(default_factory=set)

    def waits(self, turn: str) -> bool:
        """True if there is an answer that an earlier process asked for and did not live to see."""
        return turn in self._early

    def wait(self, turn: str) -> asyncio.Future[Answered]:
        """For a turn's answer, under the lease that its session has; it may be there already."""
        self._own[turn] = None
        waiting = self._waiting[turn] = asyncio.get_running_loop().create_future()
        if (early := self._early.pop(turn, None)) is not None:
            waiting.set_result(early)
        return waiting

    def is_left(self, turn: str) -> bool:
        """True if this process neither asked nor ended a turn lately."""
        return turn not in self._own

    def leave(self, turn: str, waiting: asyncio.Future[Answered]) -> None:
        """Nobody waits any more."""
        if self._waiting.get(turn) is waiting:
            del self._waiting[turn]

    async def take(self, link: Link, term: int) -> None:
        """Take them in for ever, until another gateway follows. term: of this one."""
        async for logged in link.logged(term):
            try:
                answered = Answered.model_validate_json(logged.data)
            except ValueError:
                log.warning("answer.not_understood")
                await logged.done()
                continue
            worker = logged.subject.rpartition(".")[2]
            await self._taken(worker, answered, logged)

    async def _taken(self, worker: str, answered: Answered, logged: Logged) -> None:
        turn = answered.turn
        if turn in self._unsettled:  # told again, for it was not done with in time
            self._unsettled[turn] = logged
            return
        fresh = self.is_left(turn)
        void = not fresh or self.erased(worker, answered.scope_digest)
        if void and not self.valid(worker, answered.session, answered.epoch):
            await self._void(worker, turn, logged)
            return
        await self._keep_home(answered)  # where it is opened again, that is with it
        waiting = self._waiting.get(turn)
        if waiting is not None and not waiting.done():
            self._unsettled[turn] = logged
            waiting.set_result(answered)
        elif fresh:
            self._early[turn], self._unsettled[turn] = answered, logged
            asyncio.get_running_loop().call_later(EARLY_S, self.settle, turn)
        else:
            await self._void(worker, turn, logged)

    async def _void(self, worker: str, turn: str, logged: Logged) -> None:
        log.info("answer.void", worker=worker, turn=turn)
        await logged.done()

    def hear(self, event: AppEvent) -> None:
        """Be done with the answer of a turn that is on record."""
        if isinstance(event, TurnChanged) and event.turn.state not in ("queued", "running"):
            self.settle(event.turn.id)

    def settle(self, turn: str) -> None:
        """The ledger has it, or nobody wants it."""
        self._early.pop(turn, None)
        self._own[turn] = None
        if (logged := self._unsettled.pop(turn, None)) is not None:
            self._spawn(logged.done())

    def forget(self, scopes: Collection[str]) -> None:
        """Have no answer any more of sessions of these scopes, by their digests."""
        for turn in [turn for turn, one in self._early.items() if one.scope_digest in scopes]:
            self.settle(turn)

    async def home(self, session: str) -> str:
        """The newest record of a session, as `Open` has it. Raises FileStoreFailed."""
        word = await self.records.newest(session) if self.records is not None else ""
        if self.records is None or not word:
            return ""
        return b64encode(await self.records.get(session, word) or b"").decode()

    async def _keep_home(self, answered: Answered) -> None:
        """Under the number of its lease, which no other machine has."""
        if not answered.home or self.records is None:
            return
        try:
            data = b64decode(answered.home)
            await self.records.put(answered.session, str(answered.epoch), data)
        except (MootError, ValueError) as error:
            log.warning("home.not_kept", reason=str(error))  # where it moves, it begins anew

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
