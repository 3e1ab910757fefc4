"""Strings that nobody could guess, planted everywhere, are found only where they may be."""

from pathlib import Path

from bench.isolation import live, make_world


async def test_no_agent_is_told_what_it_may_not_know(tmp_path: Path) -> None:
    world = make_world(seed=7)
    rig, _ = await live(world, tmp_path, turns=200, life=90)
    assert world.leaks == []
    assert rig.prompts == 200
    assert world.seen["RECALL"] > 20
    assert world.seen["checked"] > 1000


async def test_a_fact_in_the_wrong_place_is_found_out(tmp_path: Path) -> None:
    world = make_world(seed=7)
    await live(world, tmp_path, turns=200, misplaced=True)
    assert world.leaks
