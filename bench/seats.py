"""How many workers a house needs: people, their questions and their sessions in discrete events.

    python -m bench.seats [--people N] [--seed N] [--check]

People ask over the day as offices do, half of them in rooms, some of which are busy, half in direct
messages; some answers are followed by another question. A session takes one turn after the other,
has a seat while its program lives, starts in COLD_S, and sleeps when nobody asked for a while.
--check runs the same arrivals through `moot run` with agents on three workers, in scaled time.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

DAY_S = 86_400.0
HOURS = (1, 1, 1, 1, 1, 2, 6, 20, 60, 95, 100, 90, 55, 75, 98, 95, 80, 50, 25, 14, 10, 7, 4, 2)
"""Questions in each hour of a working day, relative to the busiest."""
P50_S, P99_S, LEAST_S, MOST_S = 20.0, 600.0, 2.0, 1200.0  # of a turn
SIGMA = math.log(P99_S / P50_S) / 2.326
BUSIER = 0.4  # Zipf's exponent of rooms: the busiest of a thousand has a hundredth of what is asked
FOLLOWS, THINKS_S = 0.4, 60.0  # an answer is followed by a question, after so long on average
COLD_S = 1.2  # a program of Claude Code is ready
NOTICED_S = 2.0  # a worker is gone
GB = 0.3  # of a session


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. at, takes_s: seconds. session: its number."""

    at: float
    session: int
    takes_s: float
    follows: bool = False


def takes_s(rng: random.Random) -> float:
    """How long a turn takes."""
    return min(max(rng.lognormvariate(math.log(P50_S), SIGMA), LEAST_S), MOST_S)


def day(people: int, turns: float, rng: random.Random) -> list[Asked]:
    """The questions of a day that follow no answer, in their order. turns: of a person."""
    count = round(people * turns * (1 - FOLLOWS))
    rooms = max(people // 5, 1)
    weights = list(itertools.accumulate((rank + 1) ** -BUSIER for rank in range(rooms)))
    hours = rng.choices(range(24), HOURS, k=count)
    asked = []
    for hour in hours:
        in_room = rng.random() < 0.5
        room = rng.choices(range(rooms), cum_weights=weights)[0]
        session = room if in_room else rooms + rng.randrange(people)
        at = (hour + rng.random()) * 3600
        asked.append(Asked(at, session, takes_s(rng), rng.random() < FOLLOWS))
    return sorted(asked, key=lambda one: one.at)


@dataclass
class Figures:
    """What came of it; waits are seconds, one a turn."""

    seat: list[float] = field(default_factory=list)  # for a seat and a start
    own: list[float] = field(default_factory=list)  # for the session's earlier turns
    cold: int = 0
    busy: int = 0  # at most at once
    living: int = 0
    redone: int = 0

    @staticmethod
    def at(values: Sequence[float], share: float) -> float:
        """The value below which this share of them lies."""
        return sorted(values)[min(int(len(values) * share), len(values) - 1)]


class Workers:
    """All workers' seats. A session lives on one of them; one without work may be put to sleep for
    another."""

    def __init__(self, workers: int, seats: int) -> None:
        self.seats = [seats] * workers
        self.used = [0] * workers
        self.lives: dict[int, int] = {}  # session: its worker
        self.idle: OrderedDict[int, None] = OrderedDict()  # since the longest first
        self.last: dict[int, int] = {}

    def take(self, session: int) -> bool | None:
        """Give it a seat; True: it lives there already. None: all are busy."""
        if session in self.lives:
            self.idle.pop(session, None)
            return True
        free = [n for n, most in enumerate(self.seats) if self.used[n] < most]
        if not free and self.idle:
            self.sleep(next(iter(self.idle)))
            free = [n for n, most in enumerate(self.seats) if self.used[n] < most]
        if not free:
            return None
        last = self.last.get(session, -1)
        worker = last if last in free else max(free, key=lambda n: self.seats[n] - self.used[n])
        self.used[worker] += 1
        self.lives[session] = self.last[session] = worker
        return False

    def sleep(self, session: int) -> None:
        """Its program ends."""
        self.idle.pop(session, None)
        self.used[self.lives.pop(session)] -= 1

    def die(self, worker: int) -> list[int]:
        """A worker is gone; returns the sessions that worked there."""
        self.seats[worker] = 0
        there = [one for one, where in self.lives.items() if where == worker]
        cut = [one for one in there if one not in self.idle]
        for session in there:
            self.sleep(session)
        return cut


class House:
    """Questions, queues and seats, event by event."""

    def __init__(self, workers: Workers, idle_s: float, cold_s: float, rng: random.Random) -> None:
        self.workers, self.idle_s, self.cold_s, self.rng = workers, idle_s, cold_s, rng
        self.figures = Figures()
        self.events: list[tuple[float, int, str, object]] = []
        self.numbers = itertools.count()
        self.queues: dict[int, deque[Asked]] = {}
        self.waiting: deque[tuple[float, Asked]] = deque()  # for a seat, since
        self.running: dict[int, tuple[int, Asked]] = {}  # a session's turn, with its number
        self.used_at: dict[int, float] = {}

    def at(self, when: float, what: str, given: object) -> None:
        """Something will happen."""
        heapq.heappush(self.events, (when, next(self.numbers), what, given))

    def run(self, asked: Sequence[Asked], dies_at: float | None = None) -> Figures:
        """Let it all happen."""
        for one in asked:
            self.at(one.at, "ask", one)
        if dies_at is not None:
            self.at(dies_at, "die", 0)
        while self.events:
            now, _, what, given = heapq.heappop(self.events)
            getattr(self, f"_{what}")(now, given)
        return self.figures

    def _ask(self, now: float, asked: Asked) -> None:
        queue = self.queues.setdefault(asked.session, deque())
        queue.append(asked)
        if len(queue) == 1:
            self._begin(now, asked)

    def _begin(self, now: float, asked: Asked) -> None:
        """The session is free for it."""
        self.figures.own.append(now - asked.at)
        self._seat(now, now, asked)

    def _seat(self, now: float, since: float, asked: Asked) -> None:
        lived = self.workers.take(asked.session)
        if lived is None:
            self.waiting.append((since, asked))
            return
        starts_s = 0.0 if lived else self.cold_s
        self.figures.cold += not lived
        self.figures.seat.append(now - since + starts_s)
        number = next(self.numbers)
        self.running[asked.session] = number, asked
        self.figures.busy = max(self.figures.busy, len(self.running))
        self.figures.living = max(self.figures.living, len(self.workers.lives))
        self.at(now + starts_s + asked.takes_s, "end", (number, asked))

    def _end(self, now: float, given: tuple[int, Asked]) -> None:
        number, asked = given
        if self.running.get(asked.session, (None,))[0] != number:
            return  # its worker died
        del self.running[asked.session]
        session, queue = asked.session, self.queues[asked.session]
        queue.popleft()
        self.workers.idle[session] = None
        self.used_at[session] = now
        self.at(now + self.idle_s, "doze", session)
        if asked.follows:
            thinks_s = self.rng.expovariate(1 / THINKS_S)
            follows = self.rng.random() < FOLLOWS
            again = Asked(now + thinks_s, session, takes_s(self.rng), follows)
            self.at(again.at, "ask", again)
        if queue:
            self._begin(now, queue[0])
        self._next(now)

    def _next(self, now: float) -> None:
        waiting, self.waiting = self.waiting, deque()
        for since, asked in waiting:
            self._seat(now, since, asked)

    def _doze(self, now: float, session: int) -> None:
        if session in self.workers.idle and now - self.used_at[session] >= self.idle_s - 1e-6:
            self.workers.sleep(session)
            self._next(now)

    def _die(self, now: float, worker: int) -> None:
        for session in self.workers.die(worker):
            _, asked = self.running.pop(session)
            self.figures.redone += 1
            self.at(now + NOTICED_S, "redo", (now, asked))

    def _redo(self, now: float, given: tuple[float, Asked]) -> None:
        self._seat(now, *given)


def simulate(
    asked: Sequence[Asked],
    *,
    workers: int,
    seats: int,
    idle_s: float,
    cold_s: float = COLD_S,
    seed: int = 0,
    dies_at: float | None = None,
) -> Figures:
    """The figures of these questions on so many workers of so many seats."""
    house = House(Workers(workers, seats), idle_s, cold_s, random.Random(seed))
    return house.run(asked, dies_at)


ROWS = (  # turns a person and day, workers, seats, idle minutes, one dies
    (4, 1, 24, 15, False),
    (4, 1, 64, 15, False),
    (10, 2, 48, 5, False),
    (10, 3, 48, 5, False),
    (10, 6, 48, 5, False),
    (10, 12, 48, 5, False),
    (10, 12, 48, 15, False),
    (10, 6, 48, 5, True),
    (20, 6, 48, 5, False),
    (20, 8, 48, 5, True),
)


def table(people: int, seed: int) -> Iterator[str]:
    """The lines of the table in docs/machines.md."""
    yield (
        "| turns a person and day | workers × seats, idle | busy / living at most (GB) | cold | "
        "wait for a seat or a start p50 / p95 / p99 | for the room's own queue p99 |"
    )
    yield "|---|---|---|---|---|---|"
    for turns, workers, seats, minutes, dies in ROWS:
        asked = day(people, turns, random.Random(seed))
        made = simulate(
            asked,
            workers=workers,
            seats=seats,
            idle_s=minutes * 60,
            seed=seed,
            dies_at=14.5 * 3600 if dies else None,
        )
        waits = " / ".join(f"{made.at(made.seat, share):.1f}" for share in (0.5, 0.95, 0.99))
        died = f"; one dies at 14:30: {made.redone} turns again" if dies else ""
        yield (
            f"| {turns} | {workers} × {seats}, {minutes} min{died} | {made.busy} / {made.living} "
            f"({made.living * GB:.0f}) | {made.cold / len(made.seat):.0%} | {waits} s | "
            f"{made.at(made.own, 0.99):.0f} s |"
        )


def main() -> None:
    """Print the table, or how near the figures are to a real house."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        from bench.seats_real import compare

        compare(arguments.seed)
        return
    print(f"{arguments.people:,} people, seed {arguments.seed}\n")
    print("\n".join(table(arguments.people, arguments.seed)))


if __name__ == "__main__":
    main()
