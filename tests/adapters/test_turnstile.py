"""Many that wake at the same moment leave room for what comes from outside."""

import asyncio

from adapters.pty.turnstile import turnstile


async def test_one_passes_in_each_turn_of_the_loop() -> None:
    passed: list[str] = []
    loop = asyncio.get_running_loop()

    async def pass_through(name: str) -> None:
        await turnstile().through()
        passed.append(name)

    def turn() -> None:
        passed.append("|")
        if len(passed) < 40:
            loop.call_soon(turn)

    tasks = [asyncio.create_task(pass_through(name)) for name in "abcde"]
    loop.call_soon(turn)
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    told = "".join(passed)
    assert [name for name in told if name != "|"] == ["a", "b", "d", "e"]
    assert all("|" in told[told.index(a) : told.index(b)] for a, b in ("ab", "bd", "de"))
    await asyncio.gather(*map(pass_through, "fg"))
    assert passed.index("f") < passed.index("g")
