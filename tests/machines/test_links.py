"""Links between machines that fail in every way, for a second to half a minute, between turns and
during one: no answer is lost, none is doubled, and the health report says what is away."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import pytest

from tests.doubles.matrix import sampled
from tests.doubles.slack import PRIVATE
from tests.machines.house import Machines, machines
from tests.machines.links import Fault

LINKS = ("gateway-broker", "worker-broker", "gateway-database")
WHEN = ("between turns", "as one ends", "while one works")
SECONDS = (1, 3, 10, 30)
CELLS = {
    f"{link} {fault} {seconds} s": (link, fault, seconds)
    for link in LINKS
    for fault in get_args(Fault)
    for seconds in SECONDS
}
SAMPLE = ("worker-broker down silent 3 s",)
TOLD_S = 10  # a fault of this length is told
HARMLESS = ("slow", "half-open")  # of these nothing need be told


async def meanwhile(house: Machines, link: str, fault: str, seconds: float) -> None:
    """Let the fault last; the health report tells of it."""
    if seconds < TOLD_S or fault in HARMLESS:
        await asyncio.sleep(seconds)  # so long it lasts: nothing is waited for
        return
    part, word = {
        "gateway-broker": ("workers", "no connection with the broker"),
        "worker-broker": ("workers", "lost: w"),
        "gateway-database": ("store", "away"),
    }[link]
    async with asyncio.TaskGroup() as group:
        group.create_task(house.says(part, word))
        group.create_task(asyncio.sleep(seconds))


async def broken(house: Machines, link: str, fault: Fault, seconds: float, when: str) -> None:
    """Break the link, ask something meanwhile, and mend it."""
    ahead = [] if when == "between turns" else [await house.ask(room=PRIVATE)]
    for one in ahead:
        await house.begun(one)
    here = {"gateway-broker": "g0-broker", "gateway-database": "g0-database"}
    name = here.get(link) or f"{house.busy() if ahead else 'w1'}-broker"
    house.links[name].fail(fault)
    later = await house.ask(free=True)
    if when == "as one ends":
        ahead[0].let_go()
    await meanwhile(house, link, fault, seconds)
    house.links[name].heal()
    for one in ahead:
        one.let_go()
    await house.answered(*ahead, later)


@pytest.mark.parametrize("cell", sampled(CELLS, *SAMPLE))
async def test_no_answer_is_lost_or_doubled(tmp_path: Path, cell: str) -> None:
    link, fault, seconds = CELLS[cell]
    async with machines(tmp_path) as house:
        for when in WHEN:
            await broken(house, link, fault, seconds, when)
            await house.check(again=house.asked)
