"""How fast recall is at 100,000 entries: `python -m bench.recall_speed`.

End to end through the index: the question's vector, Mem0's search, the store, the ranking. The
texts are made up of words with the frequencies of a natural language (Zipf's law), 6 to 24 words
each, by ten people in threads of 40. Questions are as in LoCoMo: some words of one entry and a
name.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.index import Entry, Index, IndexSettings, open_index

VOCABULARY = 40_000
START = datetime(2025, 1, 1, tzinfo=UTC)
PEOPLE = ("Andi", "Budi", "Carol", "Dewi", "Eko", "Farah", "Gita", "Hadi", "Indra", "Joko")
SMALL = 50  # scopes beside one another for the "2 %" line


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Words and how often each is said."""
    parts = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(parts, k=chance.randint(2, 4)))] = None
    return list(words), [1 / (rank + 10) for rank in range(VOCABULARY)]


def make(count: int, scopes: int, chance: random.Random) -> list[Entry]:
    """Entries in turn for each scope."""
    words, weights = vocabulary(chance)
    made = []
    for order in range(count):
        text = " ".join(chance.choices(words, weights, k=chance.randint(6, 24)))
        scope = order % scopes
        made.append(
            Entry(
                id=f"{order}",
                scope=f"room:bench:{scope}",
                text=text,
                at=START + timedelta(minutes=7 * order),
                order=order,
                person=chance.choice(PEOPLE),
                source=f"thread-{scope}-{order // scopes // 40}",
            )
        )
    return made


def ask(entries: Sequence[Entry], chance: random.Random) -> tuple[str, str]:
    """A question and its scope."""
    about = chance.choice(entries)
    said = chance.sample(about.text.split(), k=min(5, len(about.text.split())))
    return f"When did {about.person} say that {' '.join(said)} at the office?", about.scope


def resident_mb() -> float:
    """Memory of this process (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def timed(
    index: Index, questions: Sequence[tuple[str, str]], clock: Callable[[], float]
) -> list[float]:
    """Milliseconds of each search."""
    spent = []
    for text, scope in questions:
        begin = clock()
        await index.search(text, [scope], 10)
        spent.append((clock() - begin) * 1e3)
    return spent


async def run(settings: IndexSettings, count: int, scopes: int, rounds: int) -> None:
    """Fill, ask, and ask again while somebody writes."""
    chance = random.Random(20261122)
    entries = make(count, scopes, chance)
    before = resident_mb()
    async with open_index(settings) as index:
        begin = time.perf_counter()
        await index.warm()
        warm_s = time.perf_counter() - begin
        begin = time.perf_counter()
        await index.add(entries)
        add_s = time.perf_counter() - begin
        wall, cpu = time.perf_counter, time.process_time
        cold = await timed(index, [ask(entries[:1], chance)], wall)
        await timed(index, [ask(entries[i : i + 1], chance) for i in range(1, scopes)], wall)
        spent = await timed(index, [ask(entries, chance) for _ in range(rounds)], wall)
        worked = await timed(index, [ask(entries, chance) for _ in range(rounds)], cpu)
        print(f"{index.name}, {count:,} entries in {scopes} scopes")
        print(
            f"  ready {warm_s:.2f} s; added in bulk {count / add_s:,.0f}/s; first {cold[0]:.0f} ms"
        )
        print(f"  search p50 {quantile(spent, 0.5):.2f} ms, p99 {quantile(spent, 0.99):.2f} ms")
        print(f"  its CPU p50 {quantile(worked, 0.5):.2f} ms, p99 {quantile(worked, 0.99):.2f} ms")
        one_by_one = []

        async def write() -> None:
            for number in range(rounds):
                begin = time.perf_counter()
                await index.add([replace(entries[number], id=f"new{number}")])
                one_by_one.append((time.perf_counter() - begin) * 1e3)

        writing = asyncio.create_task(write())
        spent = await timed(index, [ask(entries, chance) for _ in range(rounds)], wall)
        await writing
        print(
            f"  while adding p50 {quantile(spent, 0.5):.2f} ms, p99 {quantile(spent, 0.99):.2f} ms;"
            f" an add p50 {quantile(one_by_one, 0.5):.2f} ms"
        )
        begin = time.perf_counter()
        await index.remove(["1"])
        forget_ms = (time.perf_counter() - begin) * 1e3
        print(f"  forgetting {forget_ms:.0f} ms; memory +{resident_mb() - before:.0f} MB\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--embedder", default="builtin")
    parser.add_argument("--model", type=Path, help="MiniLM's folder")
    given = parser.parse_args()
    for scopes in (1, SMALL):
        with tempfile.TemporaryDirectory() as folder:
            settings = IndexSettings(Path(folder), embedder=given.embedder, model=given.model)
            asyncio.run(run(settings, given.count, scopes, given.rounds))


if __name__ == "__main__":
    main()
