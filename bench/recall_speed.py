"""The speed of recall at 100,000 memories: `python -m bench.recall_speed`.

The product's path: `Recall.brief` of an invocation, over the real tables (100,000 rows of `facts`)
and the real index: which scopes hold anything, the question's vector, Mem0's search of them all,
the rows, the gate. The texts are made up of words with the frequencies of a natural language
(Zipf's law), 6 to 24 words each, by ten people in threads of 40. Questions are as in LoCoMo: some
words of one fact and a name.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.recall import all_embedded
from contract.chat import Room
from memory.layers import BriefRequest
from memory.recall.facts import NewFact, add_facts
from memory.recall.index import AGENT, Index, IndexSettings
from memory.recall.mem0 import Mem0Index, open_index
from memory.recall.recall import CROWD, FETCHED, Recall
from memory.recall.vectors import CHOICE
from memory.scopes import Invocation
from store.database import Store

VOCABULARY = 40_000
START = datetime(2025, 1, 1, tzinfo=UTC)
PEOPLE = ("Andi", "Budi", "Carol", "Dewi", "Eko", "Farah", "Gita", "Hadi", "Indra", "Joko")
MEMBERS = 20
SMALL = 50  # scopes beside one another for the "2 %" line
TURNS = 20  # at once, beside recall: each a timer every TICK_S
TICK_S = 0.01
ADD_EVERY_S = 0.01


@dataclass(frozen=True, slots=True)
class View:
    """The person whose question it is, and the scopes that hold what can be found for it.

    shares: the facts of each scope, in parts of all; also of scopes that may not be read.
    """

    name: str
    invocation: Invocation
    shares: dict[str, int]


def views() -> list[View]:
    """One scope with all; a room with its members and its project; one small scope of many."""
    room = Room("bench:one", "one", "room")
    members = tuple(f"bench:u{number}" for number in range(MEMBERS))
    shared = replace(room, id="bench:all", project="bench")
    return [
        View("one scope", Invocation(room, "bench:u", "demo"), {f"room:{room.id}": 100}),
        View(
            f"{MEMBERS + 2} scopes",
            Invocation(shared, members[0], "demo", members),
            {f"room:{shared.id}": 40, "project:bench": 20}
            | {f"profile:{member}": 60 // MEMBERS for member in members},
        ),
        View(
            f"one of {SMALL} scopes",
            Invocation(replace(room, id="bench:0"), "bench:u", "demo"),
            {f"room:bench:{number}": 100 // SMALL for number in range(SMALL)},
        ),
    ]


def many(scopes: int) -> View:
    """A room, its project, and as many members who shared as make so many scopes, all alike."""
    members = tuple(f"bench:u{number}" for number in range(scopes - 2))
    room = Room("bench:all", "all", "room", project="bench")
    shares = dict.fromkeys(
        [f"room:{room.id}", "project:bench", *(f"profile:{one}" for one in members)], 1
    )
    return View(f"{scopes} scopes", Invocation(room, members[0], "demo", members), shares)


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Words and how often each is said."""
    parts = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(parts, k=chance.randint(2, 4)))] = None
    return list(words), [1 / (rank + 10) for rank in range(VOCABULARY)]


def make(count: int, shares: dict[str, int], chance: random.Random) -> list[NewFact]:
    """Facts of the scopes by their shares, as they are said one after the other."""
    words, weights = vocabulary(chance)
    turns = [scope for scope, share in shares.items() for _ in range(share)]
    chance.shuffle(turns)
    made = []
    for order in range(count):
        scope = turns[order % len(turns)]
        person = chance.choice(PEOPLE)
        text = " ".join(chance.choices(words, weights, k=chance.randint(6, 24)))
        made.append(
            NewFact(
                scope=scope,
                kind="message",
                text=f"{person}: {text}",
                said_at=START + timedelta(minutes=7 * order),
                source=f"{scope} {order // len(turns) // 40}",
                person=person,
                person_name=person,
                origin="#bench",
            )
        )
    return made


def ask(view: View, facts: Sequence[NewFact], chance: random.Random) -> BriefRequest:
    """A question about a fact."""
    about = chance.choice(facts)
    said = about.text.split()[1:]
    words = " ".join(chance.sample(said, k=min(5, len(said))))
    text = f"When did {about.person} say that {words} at the office?"
    return BriefRequest(view.invocation, text, START + timedelta(days=900))


def resident_mb() -> float:
    """Memory of this process (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def spread(values: Sequence[float]) -> str:
    return f"p50 {quantile(values, 0.5):5.2f}  p99 {quantile(values, 0.99):5.2f} ms"


async def timed(
    recall: Recall, asks: Sequence[BriefRequest], clock: Callable[[], float], rest_s: float = 0.0
) -> list[float]:
    """Milliseconds of each recall. Raises AssertionError when one finds nothing at all."""
    spent = []
    for one in asks:
        begin = clock()
        found = await recall.brief(one)
        spent.append((clock() - begin) * 1e3)
        assert found.recall, one.text
        await asyncio.sleep(rest_s)
    return spent


@contextmanager
def turns_beside() -> Iterator[list[float]]:
    """The loop as busy with timers as by TURNS turns; how late each came, in milliseconds."""
    late: list[float] = []

    async def turn() -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            late.append((loop.time() - due) * 1e3)

    tasks = [asyncio.create_task(turn(), name=f"turn {number}") for number in range(TURNS)]
    try:
        yield late
    finally:
        for task in tasks:
            task.cancel()


async def fill(store: Store, recall: Recall, facts: Sequence[NewFact]) -> tuple[float, float]:
    """Seconds that the table took, and the index."""
    begin = time.perf_counter()
    for start in range(0, len(facts), 1_000):
        some = facts[start : start + 1_000]
        await store.write(lambda c, some=some: add_facts(c, some, START))  # type: ignore[misc]
    stored = time.perf_counter()
    await recall.index_pending()
    return stored - begin, time.perf_counter() - stored


async def run(view: View, settings: IndexSettings, count: int, rounds: int) -> None:
    """Fill, begin again as after a restart, ask, and ask again while somebody writes."""
    chance = random.Random(20261122)
    facts = make(count, view.shares, chance)
    readable = {f"room:{view.invocation.room.id}", "project:bench"}
    readable |= {f"profile:{member}" for member in view.invocation.members}
    found = [fact for fact in facts if fact.scope in readable]
    asks = [ask(view, found, chance) for _ in range(rounds)]
    before = resident_mb()
    async with Store.open(f"sqlite:///{settings.folder}/moot.db") as store:
        async with open_index(settings) as index:
            table_s, index_s = await fill(store, Recall(store, index), facts)
            name = index.name
            if settings.embedder == "minilm":
                begin = time.perf_counter()
                await all_embedded(settings.folder)
                print(f"embedding: {count / (time.perf_counter() - begin):,.0f}/s")
        print(f"{view.name}: {len(found):,} of {count:,} memories, {name}")
        print(f"  in bulk: table {count / table_s:,.0f}/s, index {count / index_s:,.0f}/s")
        async with open_index(settings) as index:
            await index.ids(view.invocation.room.id)  # Mem0 is imported already
            [cold_ms] = await timed(Recall(store, index), asks[:1], time.perf_counter)
        async with open_index(settings) as index:
            recall = Recall(store, index)
            begin = time.perf_counter()
            await recall.begin()
            warm_s = time.perf_counter() - begin
            print(f"  after a restart: cold {cold_ms:.0f} ms; `begin` {warm_s:.2f} s")
            await measure(recall, asks)
            through_mem0(index, sorted(readable), asks[: rounds // 4])
            await adding(store, index, recall, facts, asks)
            begin = time.perf_counter()
            await recall.forget(list(await index.ids())[:1])
            forget_ms = (time.perf_counter() - begin) * 1e3
            print(f"  forgetting {forget_ms:.0f} ms; memory +{resident_mb() - before:.0f} MB\n")


async def measure(recall: Recall, asks: Sequence[BriefRequest]) -> None:
    """Recall alone, then beside turns."""
    await timed(recall, asks[:50], time.perf_counter)
    print(f"  wall              {spread(await timed(recall, asks, time.perf_counter))}")
    print(f"  CPU               {spread(await timed(recall, asks, time.process_time))}")
    with turns_beside() as late:
        await asyncio.sleep(1)
        alone = list(late)
        late.clear()
        spent = await timed(recall, asks, time.perf_counter)
        print(f"  beside {TURNS} turns   {spread(spent)}")
        worst = f"worst {max(late):.1f}, idle {max(alone):.1f}"
        print(f"  the loop is late  {spread(late)}, {worst}")


def through_mem0(index: Index, scopes: Sequence[str], asks: Sequence[BriefRequest]) -> None:
    """CPU of a search through Mem0's public API, beside the same of our store alone."""
    assert isinstance(index, Mem0Index)
    opened = index._open()
    filters = {"agent_id": AGENT, "$or": [{"user_id": scope} for scope in scopes]}

    def alone(text: str, limit: int) -> object:
        vector = opened.embedder.embed(text, "search")
        return opened.store.search(text, vector, limit * CHOICE, filters)

    def through(text: str, limit: int) -> object:
        return index._search(text, scopes, limit)

    for limit in (2 * FETCHED, 2 * FETCHED + CROWD):
        spent: dict[str, list[float]] = {"alone": [], "through": []}
        for one in asks:
            for name, search in (("alone", alone), ("through", through)):
                begin = time.thread_time()
                search(one.text, limit)
                spent[name].append((time.thread_time() - begin) * 1e3)
        more = [after - before for before, after in zip(*spent.values(), strict=True)]
        print(f"  Mem0, limit {limit:<6}{spread(more)} CPU more than {spread(spent['alone'])}")


async def adding(
    store: Store,
    index: Index,
    recall: Recall,
    facts: Sequence[NewFact],
    asks: Sequence[BriefRequest],
) -> None:
    """Recall while facts come in, as fast as a busy house stores them."""
    taken: list[float] = []

    async def write() -> None:
        for fact in facts:
            begin = time.perf_counter()
            await store.write(lambda c, fact=fact: add_facts(c, [fact], START))  # type: ignore[misc]
            await recall.index_pending()
            taken.append((time.perf_counter() - begin) * 1e3)
            await asyncio.sleep(ADD_EVERY_S)

    writing = asyncio.create_task(write(), name="writing")
    spent = await timed(recall, asks, time.perf_counter)
    writing.cancel()
    await asyncio.wait([writing])
    print(f"  while adding      {spread(spent)}; {len(taken)} stored and indexed, {spread(taken)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--view", type=int, help="one of the views only: 0, 1, 2")
    parser.add_argument("--scopes", type=int, help="so many scopes alike instead, at least 3")
    parser.add_argument("--embedder", default="builtin")
    parser.add_argument("--model", type=Path, help="MiniLM's folder")
    given = parser.parse_args()
    chosen = views() if given.view is None else [views()[given.view]]
    if given.scopes is not None:
        chosen = [many(given.scopes)]
    for view in chosen:
        with tempfile.TemporaryDirectory() as folder:
            settings = IndexSettings(Path(folder), embedder=given.embedder, model=given.model)
            asyncio.run(run(view, settings, given.count, given.rounds))


if __name__ == "__main__":
    main()
