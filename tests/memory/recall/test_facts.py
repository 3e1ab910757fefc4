"""Facts in their table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.recall.facts import (
    NewFact,
    StoredFact,
    add_facts,
    facts_by_id,
    facts_in,
    forget_other_indexes,
    mark_indexed,
    not_indexed,
    remove_facts,
    replace_facts,
)
from memory.recall.recall import scopes_with_facts
from memory.scopes import ScopeError
from store.database import Store

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ROOM = "room:slack:C1"


async def add(store: Store, text: str, scope: str = ROOM, **more: Any) -> StoredFact:
    new = NewFact(scope, "fact", text, NOW, "test", **more)
    return (await store.write(lambda c: add_facts(c, [new], NOW)))[0]


async def texts(store: Store, **more: Any) -> list[str]:
    return [f.text for f in await store.read(lambda c: facts_in(c, [ROOM], **more))]


async def test_facts_come_back_as_they_were_stored(store: Store) -> None:
    fact = await add(store, "a", data={"chosen": "x"}, speakers=("slack:U1", "slack:U1"))
    assert await store.read(lambda c: facts_by_id(c, [fact.id, "other"])) == {fact.id: fact}
    assert (fact.said_at, fact.data) == (NOW, {"chosen": "x"})


async def test_the_number_of_a_fact_is_never_given_again(store: Store) -> None:
    first = await add(store, "a")
    await store.write(lambda c: remove_facts(c, [first.id]))
    assert (await add(store, "b")).seq > first.seq


async def test_a_fact_of_no_scope_is_refused(store: Store) -> None:
    with pytest.raises(ScopeError):
        await add(store, "a", scope="room:*")
    assert await texts(store) == []


async def test_facts_about_a_person_are_those_said_of_them_or_by_them_alone(store: Store) -> None:
    await add(store, "about", person="slack:U1")
    await add(store, "own words", speakers=("slack:U1",))
    await add(store, "of both", speakers=("slack:U1", "slack:U2"))
    await add(store, "of the other", person="slack:U2", speakers=("slack:U1",))
    assert await texts(store, person="slack:U1") == ["about", "own words"]


async def test_what_was_replaced_is_kept_and_not_listed(store: Store) -> None:
    old, new = await add(store, "15 min"), await add(store, "30 min")
    await store.write(lambda c: replace_facts(c, [old.id, new.id], new.id))
    assert await texts(store) == ["30 min"]
    assert await texts(store, replaced=True) == ["15 min", "30 min"]


async def test_forgetting_takes_copies_and_predecessors_along(store: Store) -> None:
    old, new = await add(store, "15 min"), await add(store, "30 min")
    shared = await add(store, "30 min", scope="profile:slack:U1", shared_from=new.id)
    other = await add(store, "other")
    await store.write(lambda c: replace_facts(c, [old.id], new.id))
    gone = await store.write(lambda c: remove_facts(c, [new.id]))
    assert set(gone) == {old.id, new.id, shared.id}
    assert await texts(store, replaced=True) == [other.text]


async def test_facts_wait_for_the_index_until_it_holds_them(store: Store) -> None:
    fact, old = await add(store, "a"), await add(store, "b")
    await store.write(lambda c: replace_facts(c, [old.id], fact.id))
    assert await store.read(lambda c: not_indexed(c, 10)) == [fact]
    await store.write(lambda c: mark_indexed(c, [fact], "words"))
    await store.write(lambda c: forget_other_indexes(c, "words"))
    assert await store.read(lambda c: not_indexed(c, 10)) == []
    await store.write(lambda c: forget_other_indexes(c, "others"))
    assert [f.id for f in await store.read(lambda c: not_indexed(c, 10))] == [fact.id]


async def test_only_scopes_that_hold_something_are_searched(store: Store) -> None:
    old, new = await add(store, "a"), await add(store, "b", scope="room:slack:C2")
    await store.write(lambda c: replace_facts(c, [old.id], new.id))
    asked = [ROOM, "room:slack:C2", "room:slack:C3"]
    assert await store.read(lambda c: scopes_with_facts(c, asked)) == ["room:slack:C2"]
