"""`moot run`, and what an agent starts that wants to outlive it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from tests.doubles.cells import bwrap
from tests.doubles.obedience import furnish, messages, say
from tests.doubles.processes import found, until_found
from tests.doubles.service import Service, service

LOOP = "while :; do sleep 0.2; done"
SANDBOX = pytest.mark.parametrize("sandbox", ["off", "on"])


def stubborn(word: str) -> str:
    """A command that starts three programs, which detach and ignore what asks them to end."""
    loop = f"sh -c '{LOOP}' {word} </dev/null >/dev/null 2>/dev/null"
    detached = f"(setsid {loop} &); ((setsid {loop} &) &); nohup {loop} &"
    return f"trap '' HUP TERM INT; {detached}"


async def begun(moot: Service, command: str, *, wait: float | None) -> None:
    await say(moot.url, "ana", f"please <<{command}>>", wait=wait)


@SANDBOX
@pytest.mark.parametrize("end", ["kill", "stop"])
async def test_what_an_agent_started_ends_with_moot(tmp_path: Path, sandbox: str, end: str) -> None:
    if sandbox == "on":
        bwrap()
    word = f"stubborn-{uuid4()}"
    async with service(tmp_path, furnish(tmp_path, sandbox)) as moot:
        await begun(moot, f"{stubborn(word)} echo begun", wait=60)
        await until_found(word, 3)
        await (moot.kill() if end == "kill" else moot.stop())
        await until_found(word, 0)


@SANDBOX
async def test_what_an_agent_started_ends_with_its_session(tmp_path: Path, sandbox: str) -> None:
    if sandbox == "on":
        bwrap()
    word = f"stubborn-{uuid4()}"
    async with service(tmp_path, furnish(tmp_path, sandbox)) as moot:
        await begun(moot, f"{stubborn(word)} echo begun", wait=60)
        await until_found(word, 3)
        await say(moot.url, "ana", "!new", wait=60)
        await begun(moot, "echo anew", wait=60)
        await until_found(word, 0)


@SANDBOX
async def test_what_a_stopped_turn_started_ends_and_what_was_there_before_stays(
    tmp_path: Path, sandbox: str
) -> None:
    if sandbox == "on":
        bwrap()
    before, word = f"before-{uuid4()}", f"stubborn-{uuid4()}"
    async with service(tmp_path, furnish(tmp_path, sandbox, "careless")) as moot:
        await begun(moot, f"{stubborn(before)} echo begun", wait=60)
        await begun(moot, f"{stubborn(word)} {LOOP}", wait=None)
        await until_found(word, 3)
        await say(moot.url, "ana", "!stop", wait=60)
        await until_found(word, 0)
        assert len(found(before)) == 3
        await begun(moot, "echo again", wait=60)
        async with asyncio.timeout(30):
            while not any("again" in text for text in (await messages(moot.url, "ana"))[-1:]):
                await asyncio.sleep(0.1)
        assert len(found(before)) == 3
    await until_found(before, 0)
