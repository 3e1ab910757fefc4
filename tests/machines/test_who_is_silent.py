"""Whom the gateway gives up: who is silent, not who could not be heard."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

from structlog.testing import capture_logs

from tests.doubles.running import until
from tests.doubles.workers import Broker, WorkerProcess, connected


async def test_a_gateway_that_was_slow_gives_nobody_up_and_one_who_is_silent_it_does(
    tmp_path: Path,
) -> None:
    broker = Broker(tmp_path / "data")
    broker.worker_key("w1")
    broker.start()
    worker = WorkerProcess(broker, tmp_path, "w1")
    worker.start()
    try:
        with capture_logs() as logs:
            async with connected(broker) as workers:
                await until(lambda: workers.fleet.hears_of("w1"))
                for stall_s in (0.9, 0.9, 0.9, 2.0):
                    time.sleep(stall_s)  # the loop is held up
                    await asyncio.sleep(0)
                beaten_at = workers.fleet.workers["w1"].heard_at
                await until(lambda: workers.fleet.workers["w1"].heard_at > beaten_at)
                assert not [one for one in logs if one["event"] == "worker.lost"]
                worker.send(signal.SIGSTOP)
                await until(lambda: not workers.fleet.hears_of("w1"))
                worker.send(signal.SIGCONT)
                await until(lambda: workers.fleet.hears_of("w1"))
    finally:
        worker.end(signal.SIGKILL)
        broker.kill()
