"""A pin on the platform, or a 📌, is a pin."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.agent import Reply
from contract.chat import Deleted, Pinned, Room, Speaker
from gateway.settings.access import AccessTable
from memory.scopes import home_scope
from tests.doubles.platform import ROOM, FakeBot, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

ASH = Speaker("fake:ash", "Ash")
BUDI = Speaker("fake:budi", "Budi")
DM = Room("fake:d1", "Ash", "dm")


def pinned(by: Speaker = ASH, *, message: str = "q1", room: Room = ROOM) -> Pinned:
    return Pinned(room, message, by)


def unpinned(by: Speaker = ASH, *, message: str = "q1", room: Room = ROOM) -> Pinned:
    return Pinned(room, message, by, pinned=False)


async def kept(moot: Opened, scope: str = "room:fake:general") -> list[tuple[str, str, str]]:
    """The landmarks as (kind, text, by)."""
    found = await moot.house.memories.landmarks.listed(scope)
    return [(item.kind, item.text, item.by_name) for item in found]


async def test_a_pinned_message_is_in_the_next_header_until_it_is_unpinned(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("we rotate refresh tokens", by="budi", message_id="q1"))
        await moot.receive(pinned())
        await moot.receive(pinned())
        assert await kept(moot) == [("pin", "we rotate refresh tokens", "Ash")]
        await moot.hear(said("@demo what did we decide?"))
        await moot.settle()
        assert "] we rotate refresh tokens (by Ash)\n" in moot.programs.prompts[-1]
        for _ in range(2):
            await moot.receive(unpinned())
        assert await kept(moot) == []
        assert len(moot.texts()) == 1


async def test_a_landmark_stays_while_somebodys_pin_does(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("tea at four", message_id="q1"))
        for event in (pinned(ASH), pinned(BUDI), unpinned(ASH), unpinned(ASH)):
            await moot.receive(event)
        assert len(await kept(moot)) == 1
        await moot.receive(unpinned(BUDI))
        assert await kept(moot) == []


async def test_a_pin_by_command_outlives_somebody_elses_on_the_platform(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("tea at four", message_id="q1"))
        await moot.hear(replace(said("!pin"), reply_to="q1"))
        await moot.settle()
        for event in (pinned(BUDI), unpinned(BUDI)):
            await moot.receive(event)
        assert await kept(moot) == [("pin", "tea at four", "Ash")]


async def test_who_never_pinned_it_takes_away_the_platforms_own_pin(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("tea at four", message_id="q1"))
        await moot.receive(pinned(ASH))
    async with gateway(tmp_path) as moot:
        await moot.receive(unpinned(BUDI))
        assert await kept(moot) == []
        await moot.receive(pinned(ASH))
        assert len(await kept(moot)) == 1


@pytest.mark.parametrize(
    "event",
    [
        pinned(Speaker("fake:other", "Other", "bot")),
        pinned(Speaker("fake:U01", "Our own")),
        pinned(Speaker("fake:stranger", "Stranger")),
        pinned(message="unknown"),
        pinned(message="gone"),
        pinned(message="secret"),
        pinned(message="q1", room=Room("fake:other", "other")),
    ],
)
async def test_what_is_not_theirs_to_pin_is_ignored(
    tmp_path: Path, event: Pinned, caplog: pytest.LogCaptureFixture
) -> None:
    access = AccessTable(rooms="closed", people=frozenset({"fake:ash", "fake:U01", "fake:other"}))
    bot = FakeBot(own_ids=frozenset({"fake:U01"}))
    async with gateway(tmp_path, access=access, bot=bot) as moot:
        await moot.hear(said("tea at four", message_id="q1"))
        await moot.hear(said("never mind", message_id="gone"))
        await moot.hear(said("a1b2c3", message_id="secret", include_in_memory=False))
        await moot.receive(Deleted(ROOM, "gone"))
        with caplog.at_level("INFO", "moot.pins"):
            await moot.receive(event)
        assert await kept(moot) == []
        told = [one.message.split()[0] for one in caplog.records if one.name == "moot.pins"]
        assert told in (["pin.ignored"], ["pin.kept_out"])
        assert "tea" not in caplog.text


async def test_a_pin_in_a_direct_message_stays_there_and_is_its_persons_own(tmp_path: Path) -> None:
    scope = home_scope(DM, ASH.id, "demo")
    async with gateway(tmp_path, access=AccessTable(rooms="open", dms="open")) as moot:
        await moot.hear(said("tea at four", room=DM, message_id="q1"))
        await moot.settle()
        await moot.receive(pinned(BUDI, room=DM))
        assert await kept(moot, scope) == []
        await moot.receive(pinned(ASH, room=DM))
        assert await kept(moot, scope) == [("pin", "tea at four", "Ash")]
        assert await kept(moot) == []


async def test_any_piece_of_an_answer_pins_the_answer(tmp_path: Path) -> None:
    async def script(prompt: str, reply: Reply) -> str:
        return "a" * 10 + "b" * 10

    bot = FakeBot(limit=10)
    async with gateway(tmp_path, bot=bot, programs=ScriptedPrograms(script)) as moot:
        await moot.hear(said("@demo hello"))
        await moot.settle()
        for post in bot.posted:
            await moot.receive(pinned(message=post.id))
        assert await kept(moot) == [("pin", "a" * 10 + "b" * 10, "Ash")]
