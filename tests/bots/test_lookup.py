"""Slow answers: asked for once, waited for briefly, kept."""

import asyncio

from bots.kit.recent import Lookup
from contract.errors import PlatformError


class Source:
    """Answers when it is let, counts the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open = asyncio.Event()
        self.open.set()
        self.broken = False

    async def fetch(self, key: str) -> str:
        self.asked.append(key)
        await self.open.wait()
        if self.broken:
            raise PlatformError("no", outcome="refused")
        return f"{key}!{len(self.asked)}"


def lookup(source: Source, time: list[float], **changes: float) -> Lookup[str, str]:
    return Lookup("test", source.fetch, now=lambda: time[0], **({"patience_s": 0.01} | changes))  # type: ignore[arg-type]


async def test_an_answer_is_kept_while_it_is_fresh() -> None:
    source, time = Source(), [0.0]
    names = lookup(source, time, keep_s=60.0)
    assert [await names.get("a"), await names.get("a")] == ["a!1", "a!1"]
    time[0] = 61.0
    assert await names.get("a") == "a!2"


async def test_many_who_ask_at_once_make_one_question() -> None:
    source = Source()
    names = lookup(source, [0.0])
    assert await asyncio.gather(*(names.get("a") for _ in range(20))) == ["a!1"] * 20


async def test_a_late_answer_is_kept_for_the_next_and_waited_for_once() -> None:
    source = Source()
    source.open.clear()
    names = lookup(source, [0.0])
    assert [await names.get("a"), await names.get("a")] == [None, None]
    source.open.set()
    while names.known("a") is None:
        await asyncio.sleep(0)
    assert (await names.get("a"), source.asked) == ("a!1", ["a"])


async def test_a_failure_rests_and_a_stale_answer_is_better_than_none() -> None:
    source, time = Source(), [0.0]
    names = lookup(source, time, keep_s=60.0)
    await names.get("a")
    source.broken, time[0] = True, 61.0
    assert [await names.get("a"), await names.get("a")] == ["a!1", "a!1"]
    assert await names.get("b") is None
    assert source.asked == ["a", "a", "b"]
    source.broken, time[0] = False, 100.0
    assert await names.get("a") == "a!4"


async def test_the_oldest_answers_go_first() -> None:
    source = Source()
    names = lookup(source, [0.0], entries=2)
    for key in "abc":
        await names.get(key)
    assert [names.known(key) for key in "abc"] == [None, "b!2", "c!3"]


async def test_closing_ends_the_questions_under_way() -> None:
    source = Source()
    source.open.clear()
    names = lookup(source, [0.0])
    await names.get("a")
    await names.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("look up")]
