"""The search in three steps, and what it never shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from memory.observations.records import NewObservation
from memory.observations.rows import add_observation, open_session
from memory.observations.work_log import WorkLog, WorkQuery, WorkReader, score, words_of
from memory.scopes import Gate
from store.database import Store

NOW = datetime(2026, 4, 21, 12, tzinfo=UTC)
SCOPE = "room:slack:C1"
READER = WorkReader(Gate(frozenset({SCOPE, "project:saga"})), frozenset({"claude"}))
LOOP = NewObservation(
    "bugfix", "Fixed the loop bound", "It ends.", ("loop.py: n < 5 is checked",),
    "The loop ran once too often.", ("loops", "off by one"), ("src/loop.py",),
)  # fmt: skip
TOKEN = NewObservation(
    "decision", "Chose tokens of 30 minutes", "Users stay.", ("jwt.ts: expiry is 30 min",),
    "Users complained about the loop of logins.", ("auth",), ("auth/jwt.ts", "auth/x.ts"),
)  # fmt: skip


@dataclass
class Shelf:
    store: Store

    @property
    def log(self) -> WorkLog:
        return WorkLog(self.store)

    async def add(
        self,
        record: NewObservation,
        *,
        scope: str = SCOPE,
        persona: str = "claude",
        at: datetime = NOW,
    ) -> str:
        def work(connection: Connection) -> str:
            session = open_session(
                self.store, connection, scope=scope, persona=persona, session_id="s",
                project="x", at=at,
            )  # fmt: skip
            return add_observation(connection, session.id, record, turn_id=None, at=at)

        return await self.store.write(work)

    async def titles(self, reader: WorkReader = READER, **query: Any) -> list[str]:
        found = await self.log.search(reader, WorkQuery(**query))
        return [item.title for item in found]


@pytest.fixture
def shelf(store: Store) -> Shelf:
    return Shelf(store)


async def test_the_best_come_first(shelf: Shelf) -> None:
    await shelf.add(LOOP)
    await shelf.add(TOKEN)
    assert await shelf.titles(text="loops") == [LOOP.title, TOKEN.title]
    assert await shelf.titles(text="Why is the token's expiry 30 minutes?") == [TOKEN.title]
    assert await shelf.titles(text="zebra") == []
    assert await shelf.titles(text="???") == []
    assert await shelf.titles() == [TOKEN.title, LOOP.title]


@pytest.mark.parametrize(("query", "found"), [
    ({"concept": "Auth"}, [TOKEN.title]), ({"concept": "aut"}, []),
    ({"concept": "off by one"}, [LOOP.title]),
    ({"file": "src/loop.py"}, [LOOP.title]), ({"file": "loop.py"}, [LOOP.title]),
    ({"file": "auth"}, [TOKEN.title]), ({"file": "auth/"}, [TOKEN.title]),
    ({"file": "oop.py"}, []), ({"file": "%"}, []), ({"concept": "_"}, []),
    ({"kinds": frozenset({"decision"})}, [TOKEN.title]),
    ({"text": "loop", "kinds": frozenset({"decision"})}, [TOKEN.title]),
    ({"text": "loop", "limit": 1}, [LOOP.title]),
    ({"text": "100%"}, []), ({"text": "jwt.ts"}, [TOKEN.title]),
])  # fmt: skip
async def test_it_searches_by_concept_file_and_type(
    shelf: Shelf, query: dict[str, Any], found: list[str]
) -> None:
    await shelf.add(LOOP)
    await shelf.add(TOKEN)
    assert await shelf.titles(**query) == found


async def test_it_searches_by_time(shelf: Shelf) -> None:
    for day in (1, 2, 3):
        await shelf.add(replace(LOOP, title=f"Day {day}"), at=NOW.replace(day=day))
    two = NOW.replace(day=2)
    assert await shelf.titles(since=two) == ["Day 3", "Day 2"]
    assert await shelf.titles(until=two - timedelta(seconds=1)) == ["Day 1"]


async def test_words_of_any_script_are_found(shelf: Shelf) -> None:
    await shelf.add(replace(LOOP, title="Größe geändert", concepts=("漢字",), files=("ö.py",)))
    await shelf.add(TOKEN)
    for name, text in (("text", "größe"), ("concept", "漢字"), ("file", "ö.py"), ("text", "漢字")):
        query: dict[str, Any] = {name: text}
        assert await shelf.titles(**query) == ["Größe geändert"]


async def test_the_cost_of_reading_grows_with_the_record(shelf: Shelf) -> None:
    await shelf.add(LOOP)
    await shelf.add(replace(LOOP, title="Long", narrative="x" * 4000))
    long, short = await shelf.log.search(READER, WorkQuery())
    assert 0 < short.tokens < 100
    assert 1000 < long.tokens < 1100


async def test_a_timeline_shows_what_lies_around(shelf: Shelf) -> None:
    ids = [await shelf.add(replace(LOOP, title=str(n))) for n in range(9)]
    around = await shelf.log.timeline(READER, ids[4], before=2, after=3)
    assert [item.title for item in around] == ["2", "3", "4", "5", "6", "7"]
    assert [i.title for i in await shelf.log.timeline(READER, ids[0], before=2, after=0)] == ["0"]
    assert await shelf.log.timeline(READER, "x_y_z") == []


async def test_records_come_whole_in_the_order_of_their_ids(shelf: Shelf) -> None:
    one, two = await shelf.add(LOOP), await shelf.add(TOKEN)
    found = await shelf.log.read(READER, [two, "none", one, two])
    assert [item.id for item in found] == [two, one]
    assert found[1].facts == LOOP.facts
    assert found[1].narrative == LOOP.narrative


@pytest.mark.parametrize(("scope", "persona"), [
    ("room:slack:C2", "claude"), ("room:slack:C11", "claude"), ("dm:slack:U1:claude", "claude"),
    ("gdm:slack:C1", "claude"), ("project:other", "claude"), (SCOPE, "codex"),
    (SCOPE.upper().replace("ROOM", "room"), "claude"), (SCOPE, "claude2"),
])  # fmt: skip
async def test_nothing_outside_the_readers_scopes_and_personas_is_found(
    shelf: Shelf, scope: str, persona: str
) -> None:
    mine = await shelf.add(LOOP)
    other = await shelf.add(TOKEN, scope=scope, persona=persona)
    everything: tuple[dict[str, Any], ...] = ({}, {"text": "loop tokens"}, {"concept": "auth"})
    for query in everything:
        assert TOKEN.title not in await shelf.titles(**query)
    assert await shelf.log.read(READER, [other]) == []
    assert await shelf.log.timeline(READER, other) == []
    around = await shelf.log.timeline(READER, mine)
    assert [item.id for item in around] == [mine]


async def test_a_reader_of_a_project_sees_it_too(shelf: Shelf) -> None:
    await shelf.add(TOKEN, scope="project:saga")
    assert await shelf.titles() == [TOKEN.title]


async def test_a_reader_of_everybodys_work_sees_every_persona_in_its_scopes(shelf: Shelf) -> None:
    await shelf.add(LOOP)
    await shelf.add(TOKEN, persona="codex")
    everybody = WorkReader(READER.gate, None)
    assert await shelf.titles(everybody) == [TOKEN.title, LOOP.title]


def test_common_words_and_endings_do_not_matter() -> None:
    assert words_of("Why was the loop failing in loops?") == ["loop", "fail"]
    assert words_of("the") == ["the"]
    assert words_of("auth/jwt.ts!") == ["auth/jwt.ts"]


def test_a_word_within_a_word_does_not_count() -> None:
    class Item:
        title, subtitle, narrative = "The sloop", "", ""
        facts: tuple[str, ...] = ()
        concepts = files = facts

    assert score(Item(), ["loop"]) == 0  # type: ignore[arg-type]
    assert score(Item(), ["sloop"]) > 0  # type: ignore[arg-type]
