"""Recall over an index that may lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from contract.chat import Room
from memory.given import GivenText
from memory.layers import BriefRequest
from memory.recall.facts import NewFact, StoredFact, add_facts, remove_facts, replace_facts
from memory.recall.index import Hit
from memory.recall.recall import Recall
from memory.scopes import Invocation
from store.database import Store
from tests.doubles.index import WordIndex

NOW = datetime(2026, 4, 21, tzinfo=UTC)
ROOM = Room("slack:C1", "auth-team", project="saga-ai")
ASK = BriefRequest(
    Invocation(ROOM, "slack:U1", "claude", ("slack:U1",)), "why is token expiry short?", NOW
)


def shown(first: int) -> GivenText:
    return GivenText(((first, 2**62),))


@dataclass
class Kept:
    store: Store
    index: WordIndex = field(default_factory=WordIndex)

    @property
    def recall(self) -> Recall:
        return Recall(self.store, self.index)

    async def add(
        self, text: str, scope: str = "room:slack:C1", last_seq: int | None = None
    ) -> StoredFact:
        new = NewFact(scope, "fact", text, NOW, "test", last_seq=last_seq, origin="DM")
        [fact] = await self.store.write(lambda c: add_facts(c, [new], NOW))
        await self.recall.index_pending()
        return fact

    async def texts(self, ask: BriefRequest = ASK) -> list[str]:
        return [fact.text for fact in (await self.recall.brief(ask)).recall]


@pytest.fixture
def kept(store: Store) -> Kept:
    return Kept(store)


async def test_facts_of_every_allowed_scope_are_recalled(kept: Kept) -> None:
    for scope in ("room:slack:C1", "profile:slack:U1", "project:saga-ai"):
        await kept.add(f"token in {scope}", scope)
    for scope in ("room:slack:C2", "dm:slack:U1:claude", "profile:slack:U2", "project:other"):
        await kept.add(f"token in {scope}", scope)
    found = (await kept.recall.brief(ASK)).recall
    assert {fact.text for fact in found} == {
        "token in room:slack:C1",
        "token in profile:slack:U1",
        "token in project:saga-ai",
    }
    assert {(fact.date, fact.origin) for fact in found} == {("2026-04-21", "DM")}


async def test_an_index_that_answers_with_everybodys_rows_leaks_none(kept: Kept) -> None:
    await kept.add("mine")
    await kept.add("theirs", "dm:slack:U9:claude")
    kept.index.hostile = True
    assert await kept.texts() == ["mine"]


@dataclass
class Liar(WordIndex):
    hits: Sequence[Hit] = ()

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        return list(self.hits)


async def test_ids_that_an_index_invents_or_repeats_show_nothing_twice(kept: Kept) -> None:
    fact = await kept.add("mine")
    gone = await kept.add("gone")
    await kept.store.write(lambda c: remove_facts(c, [gone.id]))
    hits = [Hit(fact.id, "", 0.1), Hit(fact.id, "x", 0.9), Hit("made up", "room:slack:C1", 2.0)]
    kept.index = Liar(hits=[*hits, Hit(gone.id, "room:slack:C1", 3.0)])
    found = (await kept.recall.brief(ASK)).recall
    assert [(f.text, f.score) for f in found] == [("mine", 0.9)]


async def test_what_the_prompt_shows_anyway_is_not_recalled(kept: Kept) -> None:
    await kept.add("token alpha", last_seq=9)
    await kept.add("token beta", last_seq=10)
    assert await kept.texts(replace(ASK, given=shown(10))) == ["token alpha"]


async def test_what_the_prompt_shows_anyway_crowds_nothing_out(kept: Kept) -> None:
    await kept.add("the token is short-lived by policy", last_seq=10)
    for seq in range(50, 90):
        await kept.add(f"why is token expiry short? {seq}", last_seq=seq)
    assert await kept.texts(replace(ASK, given=shown(50))) == ["the token is short-lived by policy"]


async def test_whatever_a_project_holds_is_a_fact_of_the_project(kept: Kept) -> None:
    await kept.add("token and Prisma", "project:saga-ai")
    await kept.add("token and tea", "room:slack:C1")
    found = (await kept.recall.brief(ASK)).recall
    assert {(fact.text, fact.kind) for fact in found} == {
        ("token and Prisma", "project"),
        ("token and tea", "fact"),
    }


async def test_what_was_replaced_is_not_recalled(kept: Kept) -> None:
    old, new = await kept.add("token 15 min"), await kept.add("token 30 min")
    await kept.store.write(lambda c: replace_facts(c, [old.id], new.id))
    assert await kept.texts() == ["token 30 min"]


async def test_a_turn_that_may_not_recall_asks_no_index(kept: Kept) -> None:
    await kept.add("token")
    assert await kept.texts(replace(ASK, recalls=False)) == []


@dataclass
class Listening(WordIndex):
    queries: list[str] = field(default_factory=list)

    async def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Hit]:
        self.queries.append(query)
        return await super().search(query, scopes, limit)


async def test_a_private_part_of_a_message_is_no_query(kept: Kept) -> None:
    kept.index = index = Listening()
    await kept.add("token")
    await kept.texts(replace(ASK, text="token <private>hunter2</private>"))
    await kept.texts(replace(ASK, text="<private>hunter2</private>"))
    assert index.queries == ["token"]


async def test_another_index_gets_everything_anew(kept: Kept) -> None:
    fact = await kept.add("token")
    kept.index = WordIndex(name="other")
    assert await kept.texts() == []
    await kept.recall.begin()
    assert await kept.index.ids() == {fact.id}
    assert await kept.texts() == ["token"]


async def test_forgetting_reaches_table_and_index(kept: Kept) -> None:
    fact = await kept.add("token")
    assert await kept.recall.forget([fact.id]) == 1
    assert await kept.index.ids() == set()
    assert await kept.texts() == []
