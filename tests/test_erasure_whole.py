"""`moot run`: a person who was deleted while it was down stays so, whatever their platform tells
again; what they say from then on is heard."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.doubles.approvals import house
from tests.doubles.approvals_own import PLATFORMS, platform
from tests.doubles.matrix import sampled
from tests.doubles.synapse import Synapse
from tests.test_commands import moot as command

WORDS = ("kestrel4711", "falcon8822", "osprey6655")
CHATS = tuple(name for name in PLATFORMS if name != "page")


def holding(folder: Path, *words: str) -> list[str]:
    """The files of the data directory that hold one of the words."""
    files = [path for path in (folder / "data").rglob("*") if path.is_file()]
    return [str(path) for path in files if any(w.encode() in path.read_bytes() for w in words)]


async def deleted(folder: Path, person: str) -> None:
    done = await asyncio.to_thread(command, "memory", "delete-person", person, "--yes", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "discord"))
async def test_nothing_that_a_platform_tells_again_of_a_deleted_person_comes_back(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at, house(at, tmp_path) as moot:
        await at.say(f"the greenhouse opens with {WORDS[0]}")
        await at.say(f"{at.mention}echo {WORDS[1]}")
        await at.told(WORDS[1])
        await moot.kill()
        assert holding(tmp_path, WORDS[0])
        await at.say(f"{at.mention}echo {WORDS[2]}")
        await at.say(f"{at.mention}echo missed", "ash")
        [olivia] = at.people("olivia")
        await deleted(tmp_path, olivia)
        assert holding(tmp_path, *WORDS) == []
        await moot.start()
        await at.listens()
        await at.told("missed")  # what was missed was read
        await at.say(f"{at.mention}echo from now on")
        await at.told("from now on")
        await moot.kill()
        assert holding(tmp_path, *WORDS) == []
        assert sum(WORDS[1] in text for text in at.texts()) == 1
        assert sum(WORDS[2] in text for text in at.texts()) == 0
