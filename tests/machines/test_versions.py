"""A gateway and workers of different versions: whoever can't be understood is named, and unused."""

from __future__ import annotations

import asyncio
from pathlib import Path

from structlog.testing import capture_logs

from gateway.workers.credentials import GATEWAY, Key, gateway_key
from gateway.workers.link import Link
from gateway.workers.messages import VERSION, Beat, BeatReply
from tests.doubles.running import until
from tests.doubles.workers import Broker, connected, worker


async def test_a_worker_of_another_version_gets_no_work_and_health_names_it(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "gateway")
    key = Key.read(broker.worker_key("w1"))
    broker.start()
    try:
        async with connected(broker) as workers, Link.open(broker.url, key, "w1") as link:
            heard: list[BeatReply] = []

            async def hear(_subject: str, data: bytes) -> None:
                heard.append(BeatReply.model_validate_json(data))

            await link.hear("moot.to.w1.beat", hear)
            beat = Beat(at=1, life="a", version=VERSION + 1, seats=4, sessions={"s": 7})
            with capture_logs() as logs:
                async with asyncio.timeout(20):
                    while len(heard) < 2:
                        await link.say("moot.from.w1.beat", beat.encoded())
                        await asyncio.sleep(0.05)
            assert heard[-1].version == VERSION
            assert heard[-1].gone == {"s": 7}
            assert workers.fleet.state() == "other version: w1"
            assert workers.fleet.place("s") is None
            told = [one for one in logs if one["event"] == "worker.other_version"]
            assert len(told) == 1
            updated = beat.model_copy(update={"version": VERSION})
            await link.say("moot.from.w1.beat", updated.encoded())
            await until(lambda: workers.fleet.place("s") == "w1")
            assert workers.fleet.state() == "ok"
    finally:
        broker.kill()


async def test_a_worker_says_that_its_gateway_has_another_version(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "gateway")
    broker.start()
    try:
        key = gateway_key(broker.data_dir)
        async with Link.open(broker.url, key, GATEWAY) as link:

            async def hear(_subject: str, data: bytes) -> None:
                beat = Beat.model_validate_json(data)
                reply = BeatReply(at=beat.at, term=1, version=VERSION + 1)
                await link.say("moot.to.w1.beat", reply.encoded())

            await link.hear("moot.from.*.beat", hear)
            with capture_logs() as logs:
                async with worker(broker, tmp_path, "w1"):
                    await until(
                        lambda: any(one["event"] == "gateway.other_version" for one in logs)
                    )
                    await asyncio.sleep(1.2)  # two more beats
            told = [one for one in logs if one["event"] == "gateway.other_version"]
            assert [one["version"] for one in told] == [VERSION + 1]
    finally:
        broker.kill()
