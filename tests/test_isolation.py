"""Strings that nobody could guess, planted everywhere, are found only where they may be."""

from pathlib import Path

from bench.isolation import live, make_world
from tests.conftest import NewUrl


async def test_no_agent_is_told_what_it_may_not_know(tmp_path: Path) -> None:
    world = make_world(seed=7)
    rig, _ = await live(world, tmp_path, turns=150, life=70)
    assert world.leaks == []
    assert rig.prompts == 150
    assert world.seen["RECALL"] > 20
    assert world.seen["checked"] > 1000


async def test_a_fact_in_the_wrong_place_is_found_out(tmp_path: Path) -> None:
    world = make_world(seed=7)
    await live(world, tmp_path, turns=200, misplaced=True)
    assert world.leaks


async def test_it_is_the_same_on_postgresql(tmp_path: Path, new_url: NewUrl) -> None:
    world = make_world(seed=8)
    rig, _ = await live(world, tmp_path, turns=40, life=30, url=await new_url("postgresql"))
    assert world.leaks == []
    assert rig.prompts == 40
