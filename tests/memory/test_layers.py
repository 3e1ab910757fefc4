"""The layers together: none may hold up or break a turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from sqlalchemy import Exists, bindparam, exists, select

from contract.briefing import Fact, Landmark
from contract.chat import Room, Speaker
from memory.landmarks import Landmarks, NewLandmark
from memory.layers import (
    AnsweredTurn,
    BriefRequest,
    EndedSession,
    LayerAnswers,
    Layers,
    Learner,
    Source,
)
from memory.readable import ReadableMessages
from memory.scopes import Invocation
from store.database import Store
from store.schema import landmarks
from tests.doubles.running import until

ASK = BriefRequest(Invocation(Room("slack:C1", "x"), "slack:U1", "claude"), "hi", datetime.now(UTC))
ENDED = EndedSession("room:slack:C1", "claude", Room("slack:C1", "x"), "s1")


@dataclass
class Says:
    part: LayerAnswers | Exception
    name: str = "layer"
    deadline_s: float = 1.0
    held: Exists | None = None
    delay_s: float = 0.0

    async def brief(self, ask: BriefRequest) -> LayerAnswers:
        await asyncio.sleep(self.delay_s)
        if isinstance(self.part, Exception):
            raise self.part
        return self.part


@dataclass
class Learns:
    name: str = "learner"
    reads_chat: bool = False
    fails: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    told: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def wants(self, interaction: AnsweredTurn, *, last: bool) -> bool:
        return True

    async def learn(self, interaction: AnsweredTurn) -> None:
        self.told.append(interaction.text)

    async def end(self, session: EndedSession) -> None:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        await self.gate.wait()
        self.at_once -= 1
        if self.fails:
            raise ValueError("broken")
        self.told.append(f"{session.scope} {session.session_id}")


def layers(
    store: Store, *sources: Source, learners: tuple[Learner, ...] = (), tasks: set[object] | None
) -> Layers:
    kept: set[object] = set() if tasks is None else tasks
    return Layers(
        store,
        sources,
        learners,
        ReadableMessages(store),
        lambda work, name: kept.add(asyncio.create_task(work, name=name)),
    )


async def test_every_layer_gives_its_part(store: Store) -> None:
    fact, landmark = Fact("a"), Landmark("b", "2026-01-01", "Ash")
    both = layers(
        store,
        Says(LayerAnswers(recall=(fact,))),
        Says(LayerAnswers(landmarks=(landmark,))),
        Says(LayerAnswers(summary="c")),
        tasks=None,
    )
    assert await both.brief(ASK) == LayerAnswers(recall=(fact,), landmarks=(landmark,), summary="c")


async def test_a_layer_that_fails_or_is_late_counts_as_empty(store: Store) -> None:
    slow = Says(LayerAnswers(recall=(Fact("late"),)), "slow", deadline_s=0.01, delay_s=30)
    broken = Says(ValueError("secret text"), "broken")
    found = await layers(store, slow, broken, Says(LayerAnswers(summary="c")), tasks=None).brief(
        ASK
    )
    assert found == LayerAnswers(summary="c", missing=("slow", "broken"), late=("slow",))


async def test_each_layer_is_measured_whatever_becomes_of_it(store: Store) -> None:
    slow = Says(LayerAnswers(), "slow", deadline_s=0.01, delay_s=30)
    broken, fine = Says(ValueError("x"), "broken"), Says(LayerAnswers(summary="c"), "fine")
    found = await layers(store, slow, broken, fine, tasks=None).brief(ASK)
    assert [layer for layer, _ in found.ms] == ["slow", "broken", "fine"]
    assert all(ms >= 0 for _, ms in found.ms)


async def test_what_failed_is_logged_without_its_text(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        await layers(store, Says(ValueError("secret text"), "broken"), tasks=None).brief(ASK)
    assert caplog.messages == ["prompt.layer_failed layer=broken error=ValueError"]


async def test_learning_waits_for_nobody_and_goes_in_order_within_a_scope(store: Store) -> None:
    learner = Learns()
    tasks: set[object] = set()
    memory = layers(store, learners=(learner,), tasks=tasks)
    for number in range(3):
        memory.remember(EndedSession(ENDED.scope, "claude", ENDED.room, str(number)))
    memory.remember(EndedSession("room:slack:C2", "claude", ENDED.room, "other"))
    assert memory.learning() == 4
    await until(lambda: learner.at_once == 2)
    learner.gate.set()
    await until(lambda: memory.learning() == 0)
    assert learner.most_at_once == 2
    first = [line for line in learner.told if line.startswith(ENDED.scope)]
    assert first == [f"{ENDED.scope} {number}" for number in range(3)]
    assert len(tasks) == 2


async def test_a_learner_that_fails_stops_no_other(store: Store) -> None:
    broken, fine = Learns(fails=True), Learns()
    broken.gate.set()
    fine.gate.set()
    memory = layers(store, learners=(broken, fine), tasks=None)
    memory.remember(ENDED)
    await until(lambda: memory.learning() == 0)
    assert fine.told == [f"{ENDED.scope} s1"]


@pytest.mark.parametrize("reads_chat", [True, False])
async def test_a_turn_that_was_asked_in_private_teaches_nothing(
    store: Store, reads_chat: bool
) -> None:
    learner = Learns(reads_chat=reads_chat)
    memory = layers(store, learners=(learner,), tasks=None)
    await memory.remember(answered("@demo what is <private>Blue Falcon 7</private>?"))
    assert learner.told == []


async def test_who_reads_the_chat_is_told_without_the_turn_being_read(store: Store) -> None:
    own, given = Learns(reads_chat=True), Learns()
    memory = layers(store, learners=(own, given), tasks=None)
    await memory.remember(answered("@demo hello"))  # a message that nobody has stored
    assert (own.told, given.told) == (["@demo hello"], [])


def answered(text: str) -> AnsweredTurn:
    return AnsweredTurn(
        turn_id="t",
        scope=ENDED.scope,
        room=ENDED.room,
        persona="claude",
        sender=Speaker("fake:ash", "Ash"),
        text=text,
        reply="",
        message_seq=1,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        session_id="s",
    )


async def test_a_room_is_told_of_after_every_learner_had_its_turn(store: Store) -> None:
    broken, fine = Learns(fails=True), Learns()
    told: list[tuple[str, int]] = []
    kept: set[object] = set()
    memory = Layers(
        store,
        (),
        (broken, fine),
        ReadableMessages(store),
        lambda work, name: kept.add(asyncio.create_task(work, name=name)),
        lambda room_id: told.append((room_id, len(fine.told))),
    )
    memory.remember(ENDED)
    await until(lambda: broken.at_once == 1)
    assert told == []
    broken.gate.set()
    fine.gate.set()
    await until(lambda: memory.learning() == 0)
    assert told == [("slack:C1", 1)]


async def test_a_layer_is_asked_only_where_it_holds_something(store: Store) -> None:
    """By its rows of this room, persona and person; one that can't be told is asked always."""
    row = select(landmarks.c.seq).where(landmarks.c.scope == bindparam("home"))
    never = Says(ValueError("it was asked"), "never", held=exists(row))
    always = Says(LayerAnswers(summary="c"), "always")
    memory = layers(store, never, always, tasks=None)
    found = await memory.brief(ASK)
    assert (found.summary, found.missing) == ("c", ())
    assert dict(found.ms)["never"] == 0.0
    await Landmarks(store, UTC).pin(
        NewLandmark(ASK.invocation.home, "decision", "Port 5433.", "slack:U1", "Ash", 1, ASK.at)
    )
    assert (await memory.brief(ASK)).missing == ("never",)
