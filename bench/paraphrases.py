"""What recall finds of what is said in other words: `python -m bench.paraphrases`.

Sixty statements stand in one room among others that were made up by a seed; each is asked for in
other words. `--model` names MiniLM's folder. The constants of memory/recall/fusion.py were chosen
on every other question, from the first on; the rest is what counts. Told are the share of answers
among the first hit and the first five, and for questions without an answer how many lines come.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.recall import all_embedded
from memory.recall.index import Index, IndexEntry, IndexSettings
from memory.recall.mem0 import open_index

ROOM = "room:bench:paraphrases"
PEOPLE = ("Andi", "Budi", "Carol", "Dewi")
START = datetime(2026, 4, 1, 9, tzinfo=UTC)
SHOWN = 5
_OPENINGS = ("I think", "They say", "As far as I know,", "By the way,", "For what it's worth,")
_THINGS = (
    "the newsletter", "the staging server", "the summer party", "the chair", "the budget sheet",
    "the onboarding guide", "the big whiteboard", "the release notes", "the phones", "the map",
    "the cleaning plan", "the old laptop", "the survey", "the backlog", "the deck", "the lamp",
)  # fmt: skip
_STATES = (
    "is nearly done", "still needs a second look", "was better last year", "came out quite well",
    "moves to another floor", "has to wait for the audit", "looks odd on a phone", "costs too much",
    "belongs to somebody else", "could be shorter", "was shown to us", "is with the designer",
)  # fmt: skip
_TIMES = ("now", "this week", "since Tuesday", "for the third time", "again", "at long last")


def fillers(count: int, chance: random.Random) -> list[str]:
    """Statements of no interest."""
    parts = (_OPENINGS, _THINGS, _STATES, _TIMES)
    return [" ".join(chance.choice(part) for part in parts) for _ in range(count)]


def entries(said: Sequence[str], others: int, chance: random.Random) -> list[IndexEntry]:
    """The room; an entry's id is the number of its statement, or says that it is another."""
    lines = [(str(number), text) for number, text in enumerate(said)]
    lines += [(f"other-{n}", text) for n, text in enumerate(fillers(others, chance))]
    chance.shuffle(lines)
    return [
        IndexEntry(
            id=id_,
            scope=ROOM,
            text=text,
            at=START + timedelta(minutes=7 * order),
            order=order,
            person=chance.choice(PEOPLE),
            source="room",
        )
        for order, (id_, text) in enumerate(lines)
    ]


async def report(index: Index, asked: Sequence[tuple[str, str]], unanswered: Sequence[str]) -> None:
    """Ask everything, and print the two halves and the questions without an answer."""
    found = [[hit.id for hit in await index.search(q, [ROOM], SHOWN)] for _, q in asked]
    for name, first in (("chosen on", 0), ("held back", 1)):
        half = list(enumerate(found))[first::2]
        at_1 = sum(ids[:1] == [str(number)] for number, ids in half) / len(half)
        at_5 = sum(str(number) in ids for number, ids in half) / len(half)
        print(f"{name:<12}{len(half):>4} questions   hit@1 {at_1:.2f}   hit@5 {at_5:.2f}")
    lines = [len(await index.search(query, [ROOM], SHOWN)) for query in unanswered]
    print(f"{'no answer':<12}{len(lines):>4} questions   {sum(lines) / len(lines):.1f} lines each")


async def run(settings: IndexSettings, others: int, seed: int) -> None:
    """Fill the room, wait until all is embedded, and ask."""
    given = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    asked = [(statement, question) for statement, question in given["asked"]]
    async with open_index(settings) as index:
        said = [statement for statement, _ in asked]
        await index.add(entries(said, others, random.Random(seed)))
        if settings.embedder == "minilm":
            await all_embedded(settings.folder)
        await report(index, asked, given["unanswered"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="MiniLM's folder; else by words")
    parser.add_argument("--others", type=int, default=300, help="statements of no interest")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    embedder = "builtin" if given.model is None else "minilm"
    with tempfile.TemporaryDirectory() as folder:
        settings = IndexSettings(Path(folder), embedder=embedder, model=given.model)
        asyncio.run(run(settings, given.others, given.seed))


if __name__ == "__main__":
    main()
