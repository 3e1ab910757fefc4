"""What an agent that is called by API is told of a turn beside the header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.agent import Reply, TurnContext
from contract.chat import Attachment, Inbound, Room, Speaker
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import gateway
from tests.doubles.scripted import ScriptedPrograms

AT = datetime(2026, 4, 21, 7, 2, tzinfo=UTC)


async def told(tmp_path: Path, message: Inbound, bot: FakeBot) -> TurnContext:
    """What the agent is told that answers a message."""
    seen: list[TurnContext] = []

    async def script(_prompt: str, reply: Reply) -> str:
        seen.append(reply.occasion)
        return "ok"

    programs = ScriptedPrograms(script)
    async with gateway(tmp_path, bot=bot, programs=programs, timezone="Asia/Jakarta") as moot:
        await moot.hear(message)
        await moot.settle()
    [occasion] = seen
    return occasion


@pytest.mark.parametrize(
    ("text", "small"), [("@demo thanks!", True), ("@demo why is it 15 minutes?", False)]
)
async def test_it_is_told_where_it_is_who_asks_and_whether_that_needs_thinking(
    tmp_path: Path, text: str, small: bool
) -> None:
    message = replace(said(text, by="andi"), sent_at=AT)
    occasion = await told(tmp_path, message, FakeBot())
    assert occasion == TurnContext(
        "[Context: Platform=fake, User=Andi, Current time for user: 2026-04-21 02:02 PM (WIB)]",
        small,
        turn=occasion.turn,
    )
    assert occasion.turn


async def test_the_role_is_the_one_that_the_roster_knows(tmp_path: Path) -> None:
    class Roster(FakeBot):
        async def members(self, room: Room) -> Sequence[Speaker]:
            return [Speaker("fake:andi", "Andi", role="backend lead")]

    async def script(_prompt: str, reply: Reply) -> str:
        seen.append(reply.occasion.context)
        return "ok"

    seen: list[str] = []
    async with gateway(tmp_path, bot=Roster(), programs=ScriptedPrograms(script)) as moot:
        for number in range(2):  # a roster is asked for in the background: it is there next time
            await moot.hear(said("@demo hello", message_id=str(number), by="andi"))
            await moot.settle()
    assert "User=Andi, Role=backend lead, " in seen[1]


async def test_thanks_with_a_file_is_no_small_talk(tmp_path: Path) -> None:
    message = replace(said("@demo thanks!"), attachments=(Attachment("a.txt", "text/plain", 3),))
    assert not (await told(tmp_path, message, FakeBot())).small_talk
