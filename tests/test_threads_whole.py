"""Threads, the whole way: the same manners on every platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.doubles.service import Service, service
from tests.doubles.synapse import Synapse
from tests.doubles.threads import (
    Thread,
    discord_thread,
    matrix_thread,
    mattermost_thread,
    rocketchat_thread,
    slack_thread,
)

CONFIG = """
[gateway]
listen = "127.0.0.1:0"
data_dir = "data"
[access]
people = ["{olivia}"]
[rooms]
follow = "{follow}"
follow_minutes = {minutes}
[[bots]]
{bot}
personas = ["demo", "ada"]
[agents.demo]
profile = "demo"
env = {{ MOOT_DEMO_PACE = "0" }}
"""
PERSONA = "---\nagent: demo\ndescription: {0}\n---\nYou are {0}.\n"
PLATFORMS: dict[str, Callable[[], AbstractAsyncContextManager[Thread]]] = {
    "slack": slack_thread,
    "rocketchat": rocketchat_thread,
    "discord": discord_thread,
    "mattermost": mattermost_thread,
}


@pytest.fixture(params=[*PLATFORMS, "matrix"])
async def thread(request: pytest.FixtureRequest) -> AsyncIterator[Thread]:
    if request.param == "matrix":
        homeserver = request.getfixturevalue("homeserver")
        assert isinstance(homeserver, Synapse)
        opened: AbstractAsyncContextManager[Thread] = matrix_thread(homeserver)
    else:
        opened = PLATFORMS[request.param]()
    async with opened as ready:
        yield ready


def run(
    thread: Thread, folder: Path, follow: str = "everybody", minutes: float = 30
) -> AbstractAsyncContextManager[Service]:
    home = folder / "moot"
    (home / "personas").mkdir(parents=True)
    for name in ("demo", "ada"):
        (home / "personas" / f"{name}.md").write_text(PERSONA.format(name))
    config = CONFIG.format(bot=thread.bot, olivia=thread.olivia, follow=follow, minutes=minutes)
    return service(home, config, **thread.secrets)


async def recorded(moot: Service, turns: int) -> None:
    """Wait until Moot has noted that so many answers are posted."""
    async with asyncio.timeout(60):
        while moot.log().count('"turn.posted"') < turns:
            await asyncio.sleep(0.05)


async def test_a_thread_goes_on_with_who_asked_and_people_are_left_alone(
    thread: Thread, tmp_path: Path
) -> None:
    async with run(thread, tmp_path) as moot:
        await thread.begin()
        await thread.say("echo nobody asked")
        await thread.say(f"{thread.me} echo first")
        await thread.answered("first")
        await thread.say("echo a stranger asks", "ash")
        await thread.say("echo second")
        await thread.answered("first", "second")
        await recorded(moot, 2)  # else "second" stands after what is said next, and is it meant?
        await moot.kill()
        await thread.say("echo said while it was down")
        await moot.start()
        told = ["first", "second", "said while it was down"]
        await thread.answered(*told)
        await thread.say("@ada echo another one")
        await thread.say("echo hers")
        await thread.answered(*told, "another one", "hers")
        await thread.say(f"{thread.ash} echo to a person")
        await thread.say("echo the same", "ash")
        await thread.say("echo among people")
        await thread.say(f"{thread.me} echo last")
        await thread.answered(*told, "another one", "hers", "last")
        assert "Traceback" not in moot.log()


async def test_a_thread_is_quiet_when_its_time_is_over(thread: Thread, tmp_path: Path) -> None:
    async with run(thread, tmp_path, "asker", minutes=0.001) as moot:
        await thread.begin()
        await thread.say(f"{thread.me} echo first")
        await thread.answered("first")
        await moot.stop()
        await moot.start()
        await thread.say("echo too late")
        await thread.say(f"{thread.me} echo last")
        await thread.answered("first", "last")
