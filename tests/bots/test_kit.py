"""The kit below the platforms: bounded memory, waits, failures of HTTP, delivery in order."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from bots.kit.http_pool import call_errors, file_errors
from bots.kit.inbound import Delivery
from bots.kit.recent import Recent
from bots.kit.retry import PatientCalls, backoff_s, retry_after_s
from contract.chat import Deleted, Event, Room
from contract.errors import PlatformError, Rejected

ROOM = Room("x:1", "general")


def test_the_newest_entries_stay_and_one_that_is_written_again_is_the_newest() -> None:
    recent: Recent[str, int] = Recent(2)
    recent["a"], recent["b"] = 1, 2
    recent["a"] = 3
    recent["c"] = 4
    assert dict(recent) == {"a": 3, "c": 4}
    recent.update(d=5)
    assert list(recent) == ["c", "d"]


def test_a_rest_doubles_up_to_its_limit_and_is_never_the_same_for_all() -> None:
    assert [backoff_s(n, first_s=0.5, longest_s=3.0, jitter=1.0) for n in range(4)] == [
        0.5,
        1.0,
        2.0,
        3.0,
    ]
    assert all(1.0 <= backoff_s(1, jitter=0.5) <= 2.0 for _ in range(100))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"X-RateLimit-Reset-After": "2.5"}, 2.5),
        ({"Retry-After": "soon"}, 1.0),
        ({"Retry-After": "-3"}, 1.0),
        ({}, 1.0),
    ],
)
def test_an_answer_says_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    assert retry_after_s(headers, "X-RateLimit-Reset-After") == seconds


class Clock:
    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def failing(*errors: PlatformError) -> tuple[list[PlatformError], Clock]:
    return list(errors), Clock()


async def test_a_patient_call_is_tried_again_as_long_as_the_platform_asks() -> None:
    left, clock = failing(
        PlatformError("later", outcome="retry", retry_after_s=7.0),
        PlatformError("?", outcome="unknown"),
    )

    async def ask() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    calls = PatientCalls(tries=3, longest_s=60.0, now=clock, sleep=clock.sleep)
    assert await calls.answered(ask) == "answer"
    assert clock.slept == [7.0, 2.0]


@pytest.mark.parametrize(("outcome", "tries"), [("refused", 1), ("unknown", 3)])
async def test_a_patient_call_ends_with_a_refusal_or_the_last_try(outcome: str, tries: int) -> None:
    clock, made = Clock(), 0

    async def ask() -> str:
        nonlocal made
        made += 1
        raise PlatformError("no", outcome=outcome)  # type: ignore[arg-type]

    calls = PatientCalls(tries=3, longest_s=60.0, now=clock, sleep=clock.sleep)
    with pytest.raises(PlatformError):
        await calls.answered(ask)
    assert made == tries


async def test_patient_calls_keep_their_pace() -> None:
    clock = Clock()

    async def ask() -> float:
        return clock.now

    calls = PatientCalls(tries=1, longest_s=1.0, pace=(2, 60.0), now=clock, sleep=clock.sleep)
    assert [await calls.answered(ask) for _ in range(5)] == [0.0, 0.0, 60.0, 60.0, 120.0]


def test_only_a_connection_that_never_was_is_safe_to_repeat() -> None:
    with (
        pytest.raises(PlatformError, match="no answer in time") as late,
        call_errors("X", "a call"),
    ):
        raise TimeoutError
    with pytest.raises(PlatformError, match="can't be reached") as away, call_errors("X", "a call"):
        raise aiohttp.ConnectionTimeoutError
    with pytest.raises(PlatformError, match="can't be read") as file, file_errors():
        raise aiohttp.ClientPayloadError
    assert [error.value.outcome for error in (late, away, file)] == ["unknown", "retry", "retry"]


async def test_delivery_takes_nothing_unless_the_bot_runs_and_leaves_out_what_is_rejected() -> None:
    delivery, came = Delivery("x"), list[Event]()

    async def receive(event: Event) -> None:
        if isinstance(event, Deleted) and event.message_id == "bad":
            raise Rejected("sender_id", "is required")
        came.append(event)

    with pytest.raises(PlatformError):
        await delivery.give(Deleted(ROOM, "early"))
    delivery.open(receive)
    with delivery.taking():
        await delivery.give(Deleted(ROOM, "bad"))
        await delivery.give(Deleted(ROOM, "good"))
    assert came == [Deleted(ROOM, "good")]
    await delivery.close()
    with pytest.raises(PlatformError), delivery.taking():
        raise AssertionError("nothing is taken any more")


async def test_delivery_lets_what_is_under_way_come_to_its_end() -> None:
    delivery, done, gate = Delivery("x"), list[str](), asyncio.Event()

    async def receive(event: Event) -> None:
        await gate.wait()
        done.append("stored")

    async def take() -> None:
        with delivery.taking():
            async with delivery.in_room("1"):
                await delivery.give(Deleted(ROOM, "m"))

    delivery.open(receive)
    task = asyncio.create_task(take())
    await asyncio.sleep(0)
    closing = asyncio.create_task(delivery.close())
    await asyncio.sleep(0)
    gate.set()
    await closing
    assert done == ["stored"]
    await task
