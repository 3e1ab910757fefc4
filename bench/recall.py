"""The quality of recall: LoCoMo's or REALTALK's questions through the index.

`python -m bench.recall locomo10.json`, or the folder with REALTALK's chats. The data is not in the
repository (LoCoMo's licence is CC BY-NC): github.com/snap-research/locomo, data/locomo10.json;
github.com/danny911kr/REALTALK, data/Chat_*.json. Every turn is one entry of its conversation's
scope, with its date, speaker and the caption of its picture; a question is the query; what counts
is the share of its evidence turns among the first 5 and 10, and one over the rank of the first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.recall.index import Index, IndexEntry, IndexSettings
from memory.recall.mem0 import open_index
from memory.recall.model.package import status

KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TUNED = 5  # the constants were chosen on so many of the ten conversations
DEPTH = 50  # ranks that count for the reciprocal one


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the ids of the entries that answer it."""

    conversation: int
    kind: str
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one question."""

    asked: Asked
    at_5: float
    at_10: float
    reciprocal: float


def entries(number: int, conversation: dict[str, Any], bare: bool) -> Iterator[IndexEntry]:
    """A conversation's turns. bare: without their session."""
    sessions = sorted(
        int(key.removeprefix("session_"))
        for key in conversation
        if re.fullmatch(r"session_\d+", key)
    )
    order = 0
    for session in sessions:
        at = said_at(conversation[f"session_{session}_date_time"])
        for turn in conversation[f"session_{session}"]:
            order += 1
            text, caption = turn.get("clean_text") or turn["text"], turn.get("blip_caption")
            yield IndexEntry(
                id=f"{number}/{turn['dia_id']}",
                scope=f"room:locomo:{number}",
                text=text + (f" [photo: {caption}]" if caption else ""),
                at=at,
                order=order,
                person=turn["speaker"],
                source="" if bare else f"session-{session}",
            )


def said_at(text: str) -> datetime:
    """A session's time, as either set of data writes it."""
    form = "%I:%M %p on %d %B, %Y" if " on " in text else "%d.%m.%Y, %H:%M:%S"
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def samples(data: Path) -> list[dict[str, Any]]:
    """The conversations with their questions: LoCoMo's file, or the folder with REALTALK's."""
    if data.is_file():
        return list(json.loads(data.read_text(encoding="utf-8")))
    by_number = sorted(data.glob("Chat_*.json"), key=lambda path: int(path.stem.split("_")[1]))
    chats = [json.loads(path.read_text(encoding="utf-8")) for path in by_number]
    return [{"conversation": chat, "qa": chat["qa"]} for chat in chats]


def questions(number: int, sample: dict[str, Any], known: set[str]) -> Iterator[Asked]:
    """A conversation's questions that have evidence."""
    for one in sample["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(one["evidence"]))
        cleaned = {f"{number}/{re.sub(r':0+', ':', name)}" for name in named}
        if found := frozenset(cleaned & known):
            yield Asked(number, KINDS[one["category"]], one["question"], found)


async def ask(index: Index, asked: Asked) -> Outcome:
    """Search, and see where the evidence is."""
    hits = await index.search(asked.text, [f"room:locomo:{asked.conversation}"], DEPTH)
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit.id in asked.evidence]
    return Outcome(
        asked,
        sum(rank <= 5 for rank in ranks) / len(asked.evidence),
        sum(rank <= 10 for rank in ranks) / len(asked.evidence),
        1 / ranks[0] if ranks else 0.0,
    )


def line(name: str, outcomes: Sequence[Outcome]) -> str:
    """One line of the table."""
    count = max(len(outcomes), 1)
    means = (
        sum(getattr(one, part) for one in outcomes) / count
        for part in ("at_5", "at_10", "reciprocal")
    )
    return f"{name:<16}{len(outcomes):>7}" + "".join(f"{mean:>9.3f}" for mean in means)


async def all_embedded(folder: Path) -> None:
    """Wait until every entry of the index has its vector."""
    while (found := status(folder)).embedded < found.facts:
        await asyncio.sleep(0.1)


async def run(data: Path, settings: IndexSettings, bare: bool) -> None:
    """Index everything, ask everything, print the table."""
    outcomes = []
    async with open_index(settings) as index:
        begin = time.perf_counter()
        asked: list[Asked] = []
        for number, sample in enumerate(samples(data)):
            turns = list(entries(number, sample["conversation"], bare))
            await index.add(turns)
            asked += questions(number, sample, {turn.id for turn in turns})
        if settings.embedder == "minilm":
            await all_embedded(settings.folder)
        print(f"{index.name}: indexed in {time.perf_counter() - begin:.1f} s")
        begin = time.perf_counter()
        outcomes = [await ask(index, one) for one in asked]
        each_ms = (time.perf_counter() - begin) / len(asked) * 1e3
        print(f"asked {len(asked)} questions, {each_ms:.2f} ms each\n")
    print(f"{'':<16}{'n':>7}{'R@5':>9}{'R@10':>9}{'MRR':>9}")
    print(line("all", outcomes))
    print(line(f"first {TUNED}", [o for o in outcomes if o.asked.conversation < TUNED]))
    print(line("the others", [o for o in outcomes if o.asked.conversation >= TUNED]))
    for kind in KINDS.values():
        print(line(kind, [o for o in outcomes if o.asked.kind == kind]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="locomo10.json, or REALTALK's folder")
    parser.add_argument("--embedder", default="builtin")
    parser.add_argument("--model", type=Path, help="MiniLM's folder")
    parser.add_argument("--bare", action="store_true", help="entries without their session")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = IndexSettings(Path(folder), embedder=given.embedder, model=given.model)
        asyncio.run(run(given.data, settings, given.bare))


if __name__ == "__main__":
    main()
