"""How the cost of a turn grows: `python -m bench.growth`.

Rows: messages in one room, rooms, and people who have spoken. For each, a database is filled with
copies of what real turns of an agent by API left (message, turn, post, figure, usage, audit,
answer), and the real `moot run`, in front of Slack and with a model that says at once, is asked in
one of the rooms: the processor's time of a mention, the own time of it, that until the first reply,
and memory. A summary has all but the newest messages of each room, as it has where a model writes
one. `growth` compares the last row of each kind with its first: 1 is none.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, insert, select, text, update

from bench.memory import resident_mb
from bench.rig import TimedSlack, connected, cpu_s, run, tokens
from bench.slack_api import CONFIG, PERSONA, EchoModel, Rows
from contract.chat import Speaker
from gateway.audit.appending import append
from gateway.audit.chain import write_anchor
from store.gateway_schema import audit, figures, usage
from store.schema import messages, pointers, posts, rooms, turns
from tests.doubles.api_stage import KEY
from tests.doubles.service import service

ASKED_IN = "C0ROOM000"
FRESH = 40  # messages of a room that no summary has
COPIED = (messages, turns, posts, figures, usage)
AFTERWARDS_S = 4.0


@dataclass(frozen=True, slots=True)
class Size:
    """The messages of the room that is asked in, the rooms, and the people of each."""

    messages: int = 1_000
    rooms: int = 10
    people: int = 10

    def __str__(self) -> str:
        return f"{self.messages:>7,} {self.rooms:>6,} {self.people:>7,}"


SIZES: Mapping[str, tuple[Size, ...]] = {
    "messages": (Size(), Size(messages=10_000), Size(messages=100_000)),
    "rooms": (Size(), Size(rooms=100), Size(rooms=1_000)),
    "people": (
        Size(messages=20_000),
        Size(messages=20_000, people=1_000),
        Size(messages=20_000, people=10_000),
    ),
}
OTHERS = 100  # messages of each other room


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one row: seconds of the processor and by the clock."""

    cpu_ms: float
    own_ms: float
    first_s: float
    mb: float
    db_mb_a_10_000: float


# ── The database ────────────────────────────────────────────────────────────────────────


class Filling:
    """Copies of the newest turn in a database, each with its own room, person and numbers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        answer = self._newest(messages)
        question = select(messages).where(messages.c.seq == self._newest(turns)["message_seq"])
        self._question = dict(connection.execute(question).mappings().one())
        self._rows = {table: self._newest(table) for table in COPIED[1:]}
        self._answer = answer
        self._seq: int = answer["seq"]
        self._turn: int = self._rows[turns]["seq"]
        self._usage: int = self._rows[usage]["seq"]
        self._room = dict(connection.execute(select(rooms).where(_of_room)).mappings().one())

    def _newest(self, table: Any) -> dict[str, Any]:
        found = self._connection.execute(select(table)).mappings().all()
        return dict(found[-1])

    def fill(self, size: Size) -> int:
        """Return how many messages were added."""
        begun = self._seq
        for number in range(size.rooms):
            name = f"C0ROOM{number:03}"
            if number:
                room = {**self._room, "id": f"slack:{name}", "name": name.lower()}
                self._connection.execute(insert(rooms), room)
            count = OTHERS if number else size.messages
            for first in range(0, count // 2, 1_000):
                self._copy(name, range(first, min(first + 1_000, count // 2)), size.people)
            self._read(f"room:slack:{name}")
        return self._seq - begun

    def _copy(self, room: str, numbers: range, people: int) -> None:
        made: dict[Any, list[dict[str, Any]]] = {table: [] for table in COPIED}
        for number in numbers:
            for table, row in self._turn_of(f"slack:{room}", number % people):
                made[table].append(row)
        for table in COPIED:
            self._connection.execute(insert(table), made[table])
        acts = [
            {"at": row["at"], "by": Speaker(row["person_id"], "Olivia"), "room_id": row["room_id"]}
            for row in made[usage]
        ]
        for act, row in zip(acts, made[turns], strict=True):
            append(self._connection, act="invoke", turn_id=row["id"], detail={"hop": 0}, **act)

    def _turn_of(self, room_id: str, person: int) -> Iterator[tuple[Any, dict[str, Any]]]:
        """A question, its answer, and all that is kept of the turn."""
        here = {"room_id": room_id, "scope": f"room:{room_id}"}
        asked, said = self._seq + 1, self._seq + 2
        self._seq, self._turn, self._usage = said, self._turn + 1, self._usage + 1
        turn_id, who = f"{self._turn:032x}", f"slack:U0PERSON{person}"
        words = {"content": f"I asked about thing {asked} of the others, what became of it?"}
        by = {"sender_id": who, "sender_name": f"Person {person}", **here}
        yield messages, {**self._question, "seq": asked, "message_id": f"1.{asked}", **by, **words}
        own = {"seq": said, "message_id": f"1.{said}", "turn_id": turn_id, **here}
        yield messages, {**self._answer, **own}
        turn, post, figure, took = (self._rows[table] for table in COPIED[1:])
        yield turns, {**turn, "seq": self._turn, "id": turn_id, "message_seq": asked, **here}
        sent = {"key": f"{turn_id}:0", "turn_id": turn_id, "platform_id": f"1.{said}"}
        yield posts, {**post, **sent}
        whose = {"room_id": room_id, "person_id": who}
        yield figures, {**figure, "seq": self._turn, **whose}
        yield usage, {**took, "seq": self._usage, "turn_id": turn_id, **whose}

    def _read(self, scope: str) -> None:
        """The memory has learned from all, and summarised all but the newest."""
        for layer, behind in (("messages", 0), ("episodes", FRESH)):
            known = {"layer": layer, "scope": scope}
            seq = {"seq": self._seq - behind, "tried_at": 0, "failures": 0}
            here = (pointers.c.layer == layer, pointers.c.scope == scope)
            if not self._connection.execute(update(pointers).where(*here).values(seq)).rowcount:
                self._connection.execute(insert(pointers), {**known, **seq})


_of_room = rooms.c.id == f"slack:{ASKED_IN}"


def filled(data: Path, size: Size) -> float:
    """Fill the database of a data folder; MB that 10,000 messages take in it, with their turns."""
    file = data / "moot.db"
    engine: Engine = create_engine(f"sqlite:///{file}")
    before = file.stat().st_size
    with engine.begin() as connection:
        added = Filling(connection).fill(size)
        newest = select(audit.c.hash).order_by(audit.c.seq.desc()).limit(1)
        write_anchor(data / "audit.head", str(connection.execute(newest).scalar_one()))
    with engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    engine.dispose()
    return (file.stat().st_size - before) / 1e6 / added * 10_000


# ── The turns ───────────────────────────────────────────────────────────────────────────


async def cost(size: Size, mentions: int) -> Cost:
    """One row."""
    model = EchoModel()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name) / "moot"
        (folder / "personas").mkdir(parents=True)
        (folder / "personas" / "claude.md").write_text(PERSONA, encoding="utf-8")
        async with TimedSlack.open() as slack, model.served() as url:
            assert isinstance(slack, TimedSlack)
            slack.rooms(size.rooms)
            environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url, **tokens(slack)}
            config = CONFIG.format(api_url=slack.api_url)
            async with service(folder, config, **environment) as moot:
                await connected(slack)
                rows = Rows(slack, moot, model)
                for _ in range(2):
                    await rows.ask(ASKED_IN)
                await asyncio.sleep(AFTERWARDS_S)
            each_mb = await asyncio.to_thread(filled, folder / "data", size)
            begin = time.perf_counter()
            first = asyncio.create_task(rows.ask(ASKED_IN))
            async with service(folder, config, **environment) as moot:
                await first
                first_s = time.perf_counter() - begin
                await asyncio.sleep(AFTERWARDS_S)
                begun_s = cpu_s(moot.pid)
                own = [await rows.ask(ASKED_IN) for _ in range(mentions)]
                await asyncio.sleep(AFTERWARDS_S)
                cpu_ms = (cpu_s(moot.pid) - begun_s) / mentions * 1e3
                own_ms = statistics.median(own) * 1e3
                return Cost(cpu_ms, own_ms, first_s, resident_mb(moot.pid), each_mb)


async def measure(kinds: list[str], mentions: int) -> None:
    """All rows of these kinds."""
    print(
        "messages  rooms  people   CPU ms  own p50 ms  first reply s     MB  MB a 10,000 messages"
    )
    for kind in kinds:
        costs = []
        for size in SIZES[kind]:
            costs.append(one := await cost(size, mentions))
            print(
                f"{size!s} {one.cpu_ms:8.1f} {one.own_ms:11.1f} {one.first_s:14.2f}"
                f" {one.mb:6.0f} {one.db_mb_a_10_000:21.1f}",
                flush=True,
            )
        first, *_, last = costs
        print(
            f"  growth with {kind}: CPU {last.cpu_ms / first.cpu_ms:.2f},"
            f" first reply {last.first_s / first.first_s:.2f}, memory {last.mb / first.mb:.2f}"
        )


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", choices=[*SIZES, []], metavar="messages|rooms|people")
    parser.add_argument("--mentions", type=int, default=60)
    given = parser.parse_args()
    run(measure(given.kinds or list(SIZES), given.mentions))


if __name__ == "__main__":
    main()
