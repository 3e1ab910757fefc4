"""What scopes hold, for people who look: their own rows and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, delete

from memory.browse import pages
from memory.browse.view_rows import ObservationFilter
from memory.recall.facts import replace_facts
from memory.scopes import Gate
from store.database import Store
from store.schema import facts as fact_rows
from tests.doubles.remembered import Shelf, fill, lying

ROOM = "room:web:general"
OTHERS = (
    "room:web:other",
    "room:web:general2",
    "dm:web:budi:demo",
    "profile:web:budi",
    "project:saga-ai",
    "gdm:web:general",
)
SECTIONS: dict[str, Callable[[Connection, frozenset[str]], Any]] = {
    "landmarks": pages.landmark_rows,
    "episodes": pages.episode_rows,
    "facts": lambda c, scopes: pages.fact_rows(c, scopes).items,
    "replaced facts": lambda c, scopes: pages.fact_rows(c, scopes, replaced=True).items,
    "facts with words": lambda c, scopes: pages.facts_with(c, scopes, "tokens", limit=99),
    "titles": lambda c, scopes: pages.title_rows(c, scopes).items,
    "titles sought": lambda c, scopes: (
        pages.title_rows(c, scopes, ObservationFilter("token")).items
    ),
    "insights": pages.insight_rows,
    "sessions": pages.agent_session_rows,
}


async def of(store: Store, work: Callable[[Shelf], Any], scope: str = ROOM) -> Any:
    return await store.write(lambda c: work(Shelf(c, scope)))


@pytest.mark.parametrize("section", SECTIONS)
async def test_another_scopes_rows_never_come(store: Store, section: str) -> None:
    await store.write(fill((ROOM, " ours"), *((scope, " theirs") for scope in OTHERS)))
    read = SECTIONS[section]
    rows = await store.read(lambda c: read(c, frozenset({ROOM})))
    assert [row.scope for row in rows] == [ROOM]
    assert "theirs" not in str([asdict(row) for row in rows])
    assert await store.read(lambda c: read(c, frozenset())) == type(rows)()


@pytest.mark.parametrize("section", SECTIONS)
async def test_a_database_that_answers_with_everybodys_rows_leaks_none(
    store: Store, section: str
) -> None:
    await store.write(fill((ROOM, " ours"), *((scope, " theirs") for scope in OTHERS)))
    read = SECTIONS[section]
    rows = await store.read(lambda c: read(lying(c), frozenset({ROOM})))
    assert [row.scope for row in rows] == [ROOM]


async def test_the_lie_of_these_tests_is_one(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await store.write(fill((ROOM, ""), (OTHERS[0], "")))
    await store.read(lambda c: pages.landmark_rows(lying(c), {ROOM}))
    assert "memory.refused layer=landmarks rows=1" in caplog.text
    assert Gate(frozenset({ROOM})).admit("x", []) == []


async def test_an_observation_of_another_scope_is_not_there(store: Store) -> None:
    ours = await of(store, lambda shelf: shelf.observation())
    theirs = await of(store, lambda shelf: shelf.observation(), OTHERS[0])
    assert await store.read(lambda c: pages.observation_context(c, {ROOM}, theirs)) is None
    assert await store.read(lambda c: pages.observation_context(lying(c), {ROOM}, theirs)) is None
    assert await store.read(lambda c: pages.observation_context(c, {ROOM}, "none")) is None
    found = await store.read(lambda c: pages.observation_context(lying(c), {ROOM}, ours))
    assert found is not None
    assert found.earlier == found.later == ()


async def test_the_timeline_around_an_observation_is_in_order(store: Store) -> None:
    ids = await of(store, lambda shelf: [shelf.observation(f"n{n}") for n in range(15)])
    found = await store.read(lambda c: pages.observation_context(c, {ROOM}, ids[7]))
    assert found is not None
    assert found.record.title == "n7"
    assert [entry.title for entry in found.earlier] == ["n4", "n5", "n6"]
    assert [entry.title for entry in found.later] == ["n8", "n9", "n10"]


async def test_facts_come_in_pages_newest_first(store: Store) -> None:
    numbers = await of(store, lambda shelf: [shelf.fact(f"f{n}").seq for n in range(5)])
    seen: list[int] = []
    before: int | None = pages.END
    sizes = []
    while before is not None:
        work = partial(pages.fact_rows, scopes={ROOM}, before=before, limit=2)
        page = await store.read(work)
        seen += [fact.seq for fact in page.items]
        sizes.append(len(page.items))
        before = page.next_before
    assert seen == numbers[::-1]
    assert sizes == [2, 2, 1]


async def test_a_page_that_is_just_full_is_the_last(store: Store) -> None:
    await of(store, lambda shelf: [shelf.fact(), shelf.fact(), shelf.observation()])
    page = await store.read(lambda c: pages.fact_rows(c, {ROOM}, limit=2))
    assert (len(page.items), page.next_before) == (2, None)
    titles = await store.read(lambda c: pages.title_rows(c, {ROOM}, limit=1))
    assert (len(titles.items), titles.next_before) == (1, None)


async def test_replaced_facts_come_on_demand_and_name_their_successor(store: Store) -> None:
    def work(shelf: Shelf) -> tuple[int, int, int]:
        old, lost, new = shelf.fact("15"), shelf.fact("20"), shelf.fact("30")
        replace_facts(shelf.connection, [old.id], new.id)
        replace_facts(shelf.connection, [lost.id], "of another scope or gone")
        return old.seq, lost.seq, new.seq

    old, lost, new = await of(store, work)
    living = await store.read(lambda c: pages.fact_rows(c, {ROOM}))
    assert [fact.seq for fact in living.items] == [new]
    every = await store.read(lambda c: pages.fact_rows(c, {ROOM}, replaced=True))
    assert [(fact.seq, fact.replaced_by) for fact in every.items] == [
        (new, None),
        (lost, 0),
        (old, new),
    ]
    await store.write(lambda c: c.execute(delete(fact_rows).where(fact_rows.c.seq == new)))
    [_, orphan] = (await store.read(lambda c: pages.fact_rows(c, {ROOM}, replaced=True))).items
    assert orphan.replaced_by == 0


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        (ObservationFilter("EXPIRY race"), ["race"]),
        (ObservationFilter("grüße"), ["greeting"]),
        (ObservationFilter("race greeting"), []),
        (ObservationFilter(concept="Gotcha"), ["greeting", "race"]),
        (ObservationFilter(concept="got"), []),
        (ObservationFilter(file="AUTH"), ["race"]),
        (ObservationFilter("race", "gotcha", "auth.py"), ["race"]),
        (ObservationFilter("race", "gotcha", "mail.py"), []),
        (ObservationFilter(text="%"), []),
    ],
)
async def test_observations_are_found_by_text_concept_and_file(
    store: Store, sought: ObservationFilter, found: list[str]
) -> None:
    def work(shelf: Shelf) -> None:
        shelf.observation("race", subtitle="Expiry is checked twice", files=["src/auth.py"],
                          concepts=["gotcha"])  # fmt: skip
        shelf.observation("greeting", subtitle="", facts=["Says GRÜẞE"], narrative="-",
                          files=["src/mail.py"], concepts=["gotcha"])  # fmt: skip

    await of(store, work)
    page = await store.read(lambda c: pages.title_rows(c, {ROOM}, sought))
    assert [entry.title for entry in page.items] == found


async def test_a_search_goes_on_where_it_stopped(store: Store) -> None:
    def work(shelf: Shelf) -> None:
        shelf.observation("wanted first")
        for _ in range(pages.SCANNED):
            shelf.observation("other")
        shelf.observation("wanted last")

    await of(store, work)
    sought = ObservationFilter("wanted")
    first = await store.read(lambda c: pages.title_rows(c, {ROOM}, sought))
    assert [entry.title for entry in first.items] == ["wanted last"]
    before = first.next_before
    assert before is not None
    second = await store.read(lambda c: pages.title_rows(c, {ROOM}, sought, before=before))
    assert [entry.title for entry in second.items] == ["wanted first"]
    assert second.next_before is None


async def test_a_summary_tells_its_range_and_the_fields_that_were_filled(store: Store) -> None:
    await of(store, lambda shelf: shelf.episode())
    await of(store, lambda shelf: shelf.episode("no record", record=None, plain=True))
    plain, ended = await store.read(lambda c: pages.episode_rows(c, {ROOM}))
    assert (plain.text, plain.record, plain.plain) == ("no record", {}, True)
    assert list(ended.record) == ["request", "investigated", "learned", "next_steps", "files_read"]
    assert ended.record["next_steps"] == ["Raise it to 30 minutes", "Tell support"]
    assert ended.first_at is None


async def test_what_a_model_wrote_in_the_wrong_shape_breaks_nothing(store: Store) -> None:
    await of(store, lambda shelf: shelf.observation(facts="text", concepts=None, files=[1, "a"]))
    [entry] = (await store.read(lambda c: pages.title_rows(c, {ROOM}))).items
    found = await store.read(lambda c: pages.observation_context(c, {ROOM}, entry.id))
    assert found is not None
    record = found.record
    assert (record.facts, record.concepts, record.files) == ((), (), ("1", "a"))
