"""`moot run` that is told to end while agents work."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from tests.doubles.credentials import program_at
from tests.doubles.obedience import furnish, messages, say
from tests.doubles.service import Service, service


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.05)


async def begun(moot: Service, folder: Path, go: Path) -> None:
    """Ana's agent works until `go` is there."""
    command = f"touch {folder}/begun; while [ ! -e {go} ]; do sleep 0.05; done; echo finished"
    await say(moot.url, "ana", f"please <<{command}>>", wait=None)
    await until((folder / "begun").exists)


async def health(url: str) -> tuple[int, str]:
    async with (
        program_at(url) as client,
        client.get("/healthz") as response,
    ):
        return response.status, (await response.json())["detail"]["gateway"]


async def answered(url: str, who: str, count: int) -> list[str]:
    """A room's messages, once there are so many."""
    async with asyncio.timeout(60):
        while len(found := await messages(url, who)) < count:
            await asyncio.sleep(0.1)
    return found


async def test_what_runs_is_finished_and_what_waits_is_answered_by_the_next_start(
    tmp_path: Path,
) -> None:
    go = tmp_path / "go"
    async with service(tmp_path, furnish(tmp_path)) as moot:
        await begun(moot, tmp_path, go)
        assert await health(moot.url) == (200, "ok")
        os.kill(moot.pid, signal.SIGTERM)
        await until(lambda: "gateway.stopping" in moot.log())
        assert await health(moot.url) == (503, "stopping")
        await say(moot.url, "ana", "please <<echo another>>", wait=None)
        await say(moot.url, "budi", "please <<echo a third>>", wait=None)
        go.touch()
        await until(lambda: "gateway.stopped" in moot.log())
        await moot.stop()
        assert moot.log().count("turn.posted") == 1
        await moot.start()
        ana, budi = await answered(moot.url, "ana", 4), await answered(moot.url, "budi", 2)
        assert [text for text in ana if "<<" not in text] == ["finished", "another"]
        assert budi[1:] == ["a third"]
        await until(lambda: moot.log().count("turn.posted") >= 3)  # it is told after the post
        await moot.stop()
        assert moot.log().count("turn.posted") == 3


async def test_a_second_signal_ends_at_once_and_the_next_start_answers(tmp_path: Path) -> None:
    go = tmp_path / "go"
    async with service(tmp_path, furnish(tmp_path)) as moot:
        await begun(moot, tmp_path, go)
        os.kill(moot.pid, signal.SIGTERM)
        await until(lambda: "gateway.stopping" in moot.log())
        await moot.stop()
        assert '"left": 1' in moot.log()
        go.touch()
        await moot.start()
        assert (await answered(moot.url, "ana", 2))[1:] == ["finished"]
        await until(lambda: "turn.posted" in moot.log())  # it is told after the post
        await moot.stop()
        assert moot.log().count("turn.posted") == 1


async def test_after_its_time_it_ends_all_the_same(tmp_path: Path) -> None:
    config = furnish(tmp_path).replace("[gateway]", "[gateway]\nshutdown_s = 0.3")
    async with service(tmp_path, config) as moot:
        await begun(moot, tmp_path, tmp_path / "never")
        await moot.stop()
        assert '"left": 1' in moot.log()


async def test_systemd_is_told_that_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = str(tmp_path / "notify")
        listening.bind(name)
        listening.settimeout(20)
        async with service(tmp_path, furnish(tmp_path), NOTIFY_SOCKET=name) as moot:
            await moot.stop()
        told = [listening.recv(4096).decode() for _ in range(3)]
    states = {state.split("\n")[0] for state in told}
    assert states == {"READY=1", "WATCHDOG=1", "STOPPING=1"}
    assert told[-1].startswith("STOPPING=1")
