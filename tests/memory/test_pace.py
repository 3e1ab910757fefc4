"""Learning that leaves the processor to answers."""

from __future__ import annotations

import asyncio

from memory.pace import LearningPace


async def test_rooms_begin_one_after_the_other_and_not_while_questions_wait() -> None:
    waiting, looks, began = True, asyncio.Event(), list[str]()

    def busy() -> bool:
        looks.set()
        return waiting

    pace = LearningPace(busy, patience_s=3600.0)

    async def learn(room: str) -> None:
        await pace.begin()
        began.append(room)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for room in ("a", "b", "c"):
            group.create_task(learn(room))
        for _ in range(3):
            looks.clear()
            await looks.wait()
            assert began == []
        waiting = False
    assert began == ["a", "b", "c"]


async def test_where_questions_always_wait_a_room_learns_all_the_same() -> None:
    async with asyncio.timeout(30):
        await LearningPace(lambda: True, patience_s=0.05).begin()


async def test_a_room_that_is_told_no_more_keeps_no_other_one_waiting() -> None:
    waiting = True
    pace = LearningPace(lambda: waiting, patience_s=3600.0)
    first, second = (asyncio.create_task(pace.begin(), name=name) for name in ("first", "second"))
    await asyncio.sleep(0)
    first.cancel()
    waiting = False
    async with asyncio.timeout(30):
        await second
    assert first.cancelled()


async def test_a_question_that_comes_while_the_loop_is_looked_at_comes_first() -> None:
    told = iter([False, True, True, False, False])  # busy, and at each later look
    left: list[bool] = []

    def busy() -> bool:
        left.append(next(told))
        return left[-1]

    async with asyncio.timeout(30):
        await LearningPace(busy, patience_s=3600.0).begin()
    assert left == [False, True, True, False, False]
