"""A leader whose network is gone without a word: no end of any of its connections is told."""

from __future__ import annotations

from pathlib import Path

from tests.doubles.slack import PRIVATE
from tests.machines.house import logged, machines, until
from tests.machines.network import apart


async def test_another_one_leads_and_the_first_says_nothing_more(tmp_path: Path) -> None:
    with apart(tmp_path) as network:
        async with machines(tmp_path, gateways=2, network=network) as house:
            first, second = house.gateways
            begun = await house.ask()
            await house.begun(begun)
            network.passes(False)
            begun.let_go()
            await until(lambda: logged(second, "lead.ours"), "the second one leads")
            await house.answered(begun)
            later = await house.ask(room=PRIVATE, free=True)
            await house.answered(later)
            network.passes(True)
            assert await first.ended() == 2
            assert "another gateway leads" in first.log()
            await house.ask(free=True)
            await house.check(again=[begun])
