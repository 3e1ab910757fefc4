"""One list of manners for every platform: the commands that people type, who may allow what an
agent asks for, and that nobody is called but whom an answer names.

What a bot alone does alike everywhere is asked in tests/bots/test_capabilities.py, how threads go
on in test_threads_whole.py, and how questions are answered in test_approvals_platforms_whole.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doubles.approvals import house, noted, until
from tests.doubles.approvals_own import PLATFORMS, platform
from tests.doubles.matrix import sampled
from tests.doubles.synapse import Synapse

CALLS = ("all", "here", "channel", "everyone", "room")
CHATS = [name for name in PLATFORMS if name != "page"]


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "mattermost", "bluebubbles"))
async def test_commands_are_answered_and_stop_what_waits_for_a_person(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at, house(at, tmp_path) as moot:
        await at.say(f"{at.mention}!help")
        await at.told("!stop")
        await at.say(f"{at.mention}!nonsense")
        await at.told("nonsense")
        await at.asked()
        await at.say(f"{at.mention}!stop")
        await at.told("stopped")
        if at.edits:
            await until(lambda: not at.cards())
        await at.say("!1")
        await at.told("Nothing is being asked here.")
        assert at.allowed() == 0
        assert "Traceback" not in moot.log()


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "mattermost", "bluebubbles"))
async def test_who_may_not_allow_is_told_so_and_who_may_is_heard(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at:
        access = f"approvers = {at.people('olivia')}"
        async with house(at, tmp_path, access):
            asked = await at.asked()
            await at.press(asked, "ash")
            await at.told(at.forbidden)
            assert at.allowed() == 0
            await at.press(asked, "olivia")
            await until(lambda: at.allowed() == 1)
            olivia, ash = at.people("olivia", "ash")
            await noted(tmp_path, [("deny", ash, ""), ("answer", olivia, "")])


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "mattermost", "bluebubbles"))
async def test_an_answer_calls_nobody_by_the_way(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at, house(at, tmp_path):
        await at.say(
            f"{at.mention}echo Look: @all @here @channel @everyone @room, and mail a@all.org"
        )
        await at.told("and mail")
        (text,) = [text for text in at.texts() if "and mail" in text]
        for word in CALLS:
            assert f" @{word}" not in text
        assert "a@all.org" in text
