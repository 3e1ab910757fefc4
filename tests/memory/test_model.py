"""Every call of the model is on record, and never too many run at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from contract.agent import Completion, Tool, Usage
from contract.errors import ModelError
from memory.model import Calls
from store.database import Store
from store.schema import model_calls
from tests.doubles.model import ScriptedModel

NOW = datetime(2026, 4, 21, tzinfo=UTC)
LATER = ModelError("overloaded", passing=True)
NEVER = ModelError("no such key", passing=False)


@dataclass
class Rig:
    store: Store
    model: ScriptedModel = field(default_factory=ScriptedModel)
    slept: list[float] = field(default_factory=list)

    @property
    def calls(self) -> Calls:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return Calls(self.model, self.store, lambda: NOW, sleep=sleep)

    async def rows(self) -> list[Any]:
        await self.store.write(lambda _: None)  # what was to be written later is there now
        return await self.store.read(lambda c: list(c.execute(select(model_calls))))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with Store.open(f"sqlite:///{tmp_path}/moot.db") as store:
        yield Rig(store)


async def test_a_call_is_recorded_with_what_it_took_and_no_word_of_it(rig: Rig) -> None:
    usage = Usage("m-1", input_tokens=7, output_tokens=3, cached_tokens=2, cost_usd=0.5)
    rig.model.replies = [Completion("the answer", (), usage)]
    model = rig.calls.of("episodes", "room:slack:C1")
    assert model.name == "scripted"
    completion = await model.complete(system="the system", prompt="the question")
    assert completion.text == "the answer"
    [row] = await rig.rows()
    assert (row.purpose, row.scope, row.model, row.fault) == (
        "episodes",
        "room:slack:C1",
        "m-1",
        None,
    )
    assert (row.input_tokens, row.output_tokens, row.cached_tokens, row.cost_usd) == (7, 3, 2, 0.5)
    assert not {"the system", "the question", "the answer"} & set(map(str, row))


async def test_a_failure_is_recorded_too_with_what_it_took(rig: Rig) -> None:
    error = ModelError("cut off", passing=False, usage=Usage("m-1", 9, 8))
    rig.model.replies = [error]
    with pytest.raises(ModelError):
        await rig.calls.of("insights", "gdm:x").complete(system="", prompt="")
    [row] = await rig.rows()
    assert (row.fault, row.input_tokens, row.output_tokens) == ("cut off", 9, 8)


async def test_what_may_pass_is_tried_again_as_often_as_the_caller_says(rig: Rig) -> None:
    rig.model.replies = [LATER, LATER, "at last"]
    completion = await rig.calls.ask("x", "room:a", system="", prompt="", tries=3)
    assert completion.text == "at last"
    assert rig.slept == [5.0, 10.0]
    assert [row.fault for row in await rig.rows()] == ["overloaded", "overloaded", None]


@pytest.mark.parametrize(("error", "tries", "asked"), [(LATER, 2, 2), (LATER, 1, 1), (NEVER, 3, 1)])
async def test_it_is_given_up_in_the_end_and_a_mistake_at_once(
    rig: Rig, error: ModelError, tries: int, asked: int
) -> None:
    rig.model.rest = error
    with pytest.raises(ModelError):
        await rig.calls.ask("x", "room:a", system="", prompt="", tries=tries)
    assert len(rig.model.asked) == asked


@dataclass
class Slow:
    """A model that counts who asks at the same time."""

    name: str = "slow"
    now: int = 0
    most: int = 0
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(
        self, *, system: str, prompt: str, tool: Tool | None = None, max_tokens: int = 4096
    ) -> Completion:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.go.wait()
        finally:
            self.now -= 1
        return Completion("", (), Usage(self.name))


async def together(calls: Calls, slow: Slow, asks: list[tuple[str, str]]) -> int:
    async with asyncio.TaskGroup() as group:
        for purpose, scope in asks:
            group.create_task(calls.of(purpose, scope).complete(system="", prompt=""))
        await asyncio.sleep(0.02)
        slow.go.set()
    return slow.most


async def test_two_ask_at_once_in_the_whole_house(rig: Rig) -> None:
    slow = Slow()
    calls = Calls(slow, rig.store, lambda: NOW)
    assert await together(calls, slow, [("x", f"room:{n}") for n in range(6)]) == 2
    assert len(await rig.rows()) == 6


async def test_a_layer_asks_once_at_a_time_for_a_scope(rig: Rig) -> None:
    slow = Slow()
    calls = Calls(slow, rig.store, lambda: NOW)
    assert await together(calls, slow, [("x", "room:a")] * 3) == 1


async def test_two_layers_may_ask_for_one_scope(rig: Rig) -> None:
    slow = Slow()
    calls = Calls(slow, rig.store, lambda: NOW)
    assert await together(calls, slow, [("x", "room:a"), ("y", "room:a")]) == 2


async def test_a_cancelled_call_is_recorded_and_gives_its_place_back(rig: Rig) -> None:
    slow = Slow()
    calls = Calls(slow, rig.store, lambda: NOW, at_once=1)
    asking = asyncio.create_task(calls.of("x", "room:a").complete(system="", prompt=""))
    while not slow.now:
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    slow.go.set()
    await calls.of("x", "room:a").complete(system="", prompt="")
    assert [row.fault for row in await rig.rows()] == ["cancelled", None]
