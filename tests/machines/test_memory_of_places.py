"""What gateway and broker know of where sessions were, after either of them began anew."""

from __future__ import annotations

import shutil
from pathlib import Path

from gateway.workers.credentials import FOLDER
from tests.doubles.slack import GENERAL, PRIVATE
from tests.machines.house import logged, machines, until


async def test_after_a_restart_a_session_goes_where_it_was(tmp_path: Path) -> None:
    async with machines(tmp_path) as house:
        moot = house.gateways[0]
        places = {}
        for room in (GENERAL, PRIVATE):
            await house.answered(await house.ask(room=room, free=True))
            places[room] = house.busy()
        assert len(set(places.values())) == 2
        await moot.stop()
        await moot.start()
        await until(lambda: len(logged(moot, "worker.heard")) >= 4, "workers are heard again")
        for room in (PRIVATE, GENERAL):
            await house.answered(await house.ask(room=room, free=True))
            assert house.busy() == places[room]
        await house.check()


async def test_a_broker_that_lost_its_disk_is_made_ready_again(tmp_path: Path) -> None:
    async with machines(tmp_path) as house:
        await house.answered(await house.ask(free=True))
        house.broker.kill()
        shutil.rmtree(house.broker.data_dir / FOLDER / "broker")
        house.broker.start()
        await house.answered(await house.ask(room=PRIVATE, free=True))
        await house.answered(await house.ask(free=True))
        await house.check(again=house.asked)
