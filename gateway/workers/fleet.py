"""The workers that the gateway hears, the sessions that each has, and who is given up.

A session has one worker at a time, under a lease with a number that only grows. A worker that was
silent too long loses all its leases; what it still says of them is void.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol

import structlog

from contract.values import dataclass
from gateway.observability.worker_metrics import WorkerFigures
from gateway.workers.link import Link
from gateway.workers.messages import VERSION, Beat, BeatReply, scope_of

log = structlog.stdlib.get_logger("moot.workers")

ECHO = "moot.echo"
ECHO_S = 0.1
DEAF_S = 1.0  # without its own echo the gateway can't tell who is silent
BACK_S = 1.5  # after that, what workers may take to be back: they try for 2 s at a time
FORGET_S = 3600.0
ADOPTS_S = 30.0  # after a gateway began: then nobody comes any more for what works still


@dataclass(slots=True)
class HeardWorker:
    """A worker as its beats tell. seats: of programs; used: those that are taken. lost: it was
    given up, and not heard since."""

    life: str
    seats: int
    heard_at: float
    lost: bool = False


@dataclass(frozen=True, slots=True)
class LeftSession:
    """A session that an earlier gateway opened, and that still works on a turn."""

    worker: str
    epoch: int
    turn: str


class Lessee(Protocol):
    """A session on a worker, as the gateway has it."""

    worker: str
    life: str
    epoch: int

    def lost(self) -> None:
        """Its worker is given up, or has no such session any more."""

    async def close(self) -> None:
        """End it."""


class Fleet:
    """Knows the workers by their beats. changed: told when there are more or fewer seats."""

    def __init__(self, lost_s: float, changed: Callable[[int], None] = lambda seats: None) -> None:
        self.lost_s, self.changed = lost_s, changed
        self.term = 0  # greater than that of any gateway before
        self.workers: dict[str, HeardWorker] = {}
        self.foreign: dict[str, int] = {}  # the versions of those that are given no work
        self.leases: dict[str, Lessee] = {}  # by session
        self.left: dict[str, LeftSession] = {}  # by session
        self.is_left: Callable[[str], bool] = lambda turn: False  # nobody asked or ended it here
        self.leaves = False  # this gateway ends, and another one may adopt what works
        self._adopted: dict[str, str] = {}  # the turns that sessions worked on then
        self._began_at = float("inf")
        self.hop: Callable[[float], None] = lambda seconds: None  # given those of a prompt's way
        self._losses = Counter[str]()
        self._last: dict[str, tuple[str, int]] = {}  # where each session was last, and its epoch
        self._echo_at, self._hearing_since = float("-inf"), float("inf")
        self._own = secrets.token_hex(8)  # an echo of another gateway says nothing of this one
        self._seats = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def seats(self) -> int:
        """The number of programs that all of them may run."""
        return sum(one.seats for one in self.workers.values() if not one.lost)

    @property
    def hears(self) -> bool:
        """True while the gateway is connected, by its own echo."""
        return time.monotonic() - self._echo_at < DEAF_S

    def state(self) -> str:
        """A word or two for the health report."""
        if not self.hears:
            return "no connection with the broker"
        named = {
            "lost": [name for name, one in self.workers.items() if one.lost],
            "other version": list(self.foreign),
        }
        return "; ".join(f"{what}: {', '.join(who)}" for what, who in named.items() if who) or "ok"

    def figures(self) -> list[WorkerFigures]:
        """Those of each worker that was heard lately, by name."""
        lives = Counter(lessee.worker for lessee in self.leases.values())
        return [
            WorkerFigures(name, not one.lost, one.seats, lives[name], self._losses[name])
            for name, one in sorted(self.workers.items())
        ]

    def beaten(self, name: str, beat: Beat) -> BeatReply:
        """A worker is alive; returns what it is to let go."""
        if beat.version != VERSION:
            if self.foreign.get(name) != beat.version:
                log.warning("worker.other_version", worker=name, version=beat.version)
            self.foreign[name] = beat.version
            return self._reply(beat, beat.sessions)
        self.foreign.pop(name, None)
        known = self.workers.get(name)
        if known is None or known.lost or known.life != beat.life:
            log.info("worker.heard", worker=name, seats=beat.seats)
        self.workers[name] = HeardWorker(beat.life, beat.seats, time.monotonic())
        self._look_for_left(name, beat)
        for lessee in self._of(name):
            if lessee.life != beat.life:
                lessee.lost()
        self._tell()
        said = beat.sessions.items()
        return self._reply(
            beat,
            {
                one: epoch
                for one, epoch in said
                if not (self.has(name, one, epoch) or self._is_left_at(name, one))
            },
        )

    def _look_for_left(self, name: str, beat: Beat) -> None:
        """Let those of its sessions live on whose turn is about to be taken up here."""
        self._drop_left(name)
        for session, turn in beat.turns.items():
            lives = session in beat.sessions and session not in self.leases
            if lives and self.is_young and self.is_left(turn):
                self._note_left(session, LeftSession(name, beat.sessions[session], turn))

    def _note_left(self, session: str, left: LeftSession) -> None:
        """The newest lease of a session is the one that counts."""
        other = self.left.get(session)
        _, newest = self._last.get(session, ("", 0))
        if left.epoch >= newest and (other is None or other.epoch < left.epoch):
            self.left[session] = left

    def _is_left_at(self, worker: str, session: str) -> bool:
        left = self.left.get(session)
        return left is not None and left.worker == worker

    def _drop_left(self, name: str) -> None:
        self.left = {of: one for of, one in self.left.items() if one.worker != name}

    @property
    def is_young(self) -> bool:
        """True for a while after the gateway began to hear workers."""
        return time.monotonic() < self._began_at + ADOPTS_S

    def works(self, turn: str) -> bool:
        """True if a session of an earlier gateway works on a turn, or did when it was adopted."""
        left = (one.turn for one in self.left.values())
        return turn in self._adopted.values() or turn in left

    def _reply(self, beat: Beat, gone: Mapping[str, int]) -> BeatReply:
        return BeatReply(at=beat.at, term=self.term, gone=dict(gone), version=VERSION)

    def has(self, worker: str, session: str, epoch: int) -> bool:
        """True if a worker has a session under this lease."""
        lessee = self.leases.get(session)
        return lessee is not None and (lessee.worker, lessee.epoch) == (worker, epoch)

    def place(
        self,
        session: str,
        but: Collection[str] = frozenset(),
        among: Collection[str] | None = None,
    ) -> str | None:
        """The worker for a session: where it was last, else the one with most seats free. among:
        of its pool; None: of all."""
        used = Counter(lessee.worker for lessee in self.leases.values())
        used.update(left.worker for left in self.left.values())
        free = {
            name: one.seats - used[name]
            for name, one in self.workers.items()
            if not one.lost and name not in but and one.seats > used[name]
            if among is None or name in among
        }
        last, _ = self._last.get(session, ("", 0))
        if last in free:
            return last
        return max(free, key=lambda name: (free[name], name), default=None)

    def knows(self, session: str) -> bool:
        """True if it is known where a session was last."""
        return session in self._last

    def expects(self, session: str) -> bool:
        """True while the worker where a session was last may still be about to be heard."""
        last, _ = self._last.get(session, ("", 0))
        unheard = bool(last) and last not in self.workers
        return unheard and self.hears and time.monotonic() < self._hearing_since

    def was(self, session: str, worker: str, epoch: int) -> None:
        """An earlier gateway had it there."""
        self._last.setdefault(session, (worker, epoch))
        if (left := self.left.get(session)) is not None and left.epoch < epoch:
            del self.left[session]

    def let(self, session: str, lessee: Lessee) -> None:
        """A session lives on a worker from now on."""
        left = self.left.pop(session, None)
        if left is not None and (left.worker, left.epoch) == (lessee.worker, lessee.epoch):
            self._adopted[session] = left.turn
        self.leases[session] = lessee
        self._last[session] = lessee.worker, lessee.epoch

    def lives(self, scope_digest: str) -> bool:
        """True if a session of a scope lives on any worker."""
        return any(scope_of(session) == scope_digest for session in self.leases)

    def hears_of(self, worker: str) -> bool:
        """True if a worker is there."""
        known = self.workers.get(worker)
        return known is not None and not known.lost

    def end(self, session: str, lessee: Lessee) -> None:
        """It doesn't any more."""
        if self.leases.get(session) is lessee:
            del self.leases[session]
            self._adopted.pop(session, None)

    def _of(self, name: str) -> list[Lessee]:
        return [lessee for lessee in self.leases.values() if lessee.worker == name]

    def _tell(self) -> None:
        if self.seats != self._seats:
            self._seats = self.seats
            self.changed(self._seats)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A task that is kept until it ends."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ── Who is silent ───────────────────────────────────────────────────────────────────

    async def watch(self, link: Link) -> None:
        """Give up who is silent, for ever: but not while it is the gateway that is deaf, or slow.

        An echo comes after what workers said before it was sent: they are judged as of then.
        """
        self._began_at = time.monotonic()
        await link.hear(ECHO, self._echoed)
        while True:
            await link.say(ECHO, f"{self._own} {time.monotonic()}".encode())
            await asyncio.sleep(ECHO_S)

    async def _echoed(self, _subject: str, data: bytes) -> None:
        own, _, sent_at = data.decode().partition(" ")
        if own == self._own:
            now = time.monotonic()
            if (deaf_s := now - self._echo_at - DEAF_S) > 0:
                self._hearing_since = now + min(deaf_s, BACK_S)
            self._echo_at = now
            self.judge(float(sent_at))

    def judge(self, at: float) -> None:
        """Give up who was silent too long at a time of the monotonic clock, but could be heard."""
        for name, one in self.workers.items():
            silent_s = at - max(one.heard_at, self._hearing_since)
            if not one.lost and silent_s > self.lost_s:
                one.lost = True
                self._losses[name] += 1
                log.warning("worker.lost", worker=name, silent_s=round(silent_s, 1))
                self._drop_left(name)
                for lessee in self._of(name):
                    lessee.lost()
        self._tell()
        old = [name for name, one in self.workers.items() if at - one.heard_at > FORGET_S]
        for name in old:
            del self.workers[name]
