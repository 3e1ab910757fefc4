"""One list of manners for every platform: the commands that people type, who may allow what an
agent asks for, what is edited and taken back, a file that is too large, and that nobody is called
but whom an answer names.

What a bot alone does alike everywhere is asked in tests/bots/test_capabilities.py, how threads go
on in test_threads_whole.py, and how questions are answered in test_approvals_platforms_whole.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doubles.approvals import house, noted, until
from tests.doubles.approvals_own import PLATFORMS, platform
from tests.doubles.matrix import sampled
from tests.doubles.service import service
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


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "discord", "mattermost"))
async def test_a_choice_that_a_stranger_types_is_refused_and_on_record(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at:
        olivia, ash = at.people("olivia", "ash")
        config = at.config(f"people = ['{olivia}']\napprovers = ['{olivia}']")
        closed = config.replace('rooms = "open"\ndms = "open"\n', "")
        async with service(tmp_path, closed, **at.secrets) as moot:
            await at.arrives(moot)
            await at.say(f"{at.mention}permission")
            await at.card(())
            await at.say("!7", "ash")
            await at.say("!1", "ash")
            await at.say("!1", "ash")
            await at.told("can't answer you here yet")
            await at.say("!1")
            await until(lambda: at.allowed() == 1)
            await noted(tmp_path, [("deny", ash, ""), ("answer", olivia, "")])


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "discord", "mattermost"))
async def test_what_waits_is_asked_as_it_was_edited_and_what_was_taken_back_is_not(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    """The one that runs, the one that is answered, and those that wait for it."""
    async with platform(name, homeserver) as at, house(at, tmp_path) as moot:
        who = at.persona.format("demo")  # an account may be called otherwise
        done = await at.say(f"{who}echo cats")
        await at.told("cats")
        await at.asked()
        waits = await at.say(f"{who}echo one")
        gone = await at.say(f"{who}echo two")
        await until(lambda: moot.log().count('"turn.queued"') == 4)
        await at.edit(waits, f"{who}echo three")
        await at.edit(done, f"{who}echo dogs")
        await at.remove(gone)
        await at.say("!1")
        await at.told("three")
        await at.asked()
        runs = await at.say(f"{who}echo last")
        await at.remove(done)
        await at.edit(runs, f"{who}echo end")
        await at.say("!1")
        await at.told("end")
        assert at.allowed() == 2
        assert not {"dogs", "one", "two"} & set(at.texts())
        assert "Traceback" not in moot.log()


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "discord", "mattermost"))
async def test_a_question_that_is_taken_back_while_it_is_worked_on_is_not_answered(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at, house(at, tmp_path) as moot:
        asked = await at.say(f"{at.mention}permission")
        await at.card(())
        await at.remove(asked)
        if at.edits:
            await until(lambda: not at.cards())
        await at.say(f"{at.mention}echo next")
        await at.told("next")
        await at.say("!1")
        await at.told("Nothing is being asked here.")
        assert at.allowed() == 0
        assert "Traceback" not in moot.log()


@pytest.mark.parametrize("name", sampled(CHATS, "slack", "discord", "mattermost"))
async def test_a_file_that_is_too_large_is_said_to_the_person(
    name: str, homeserver: Synapse, tmp_path: Path
) -> None:
    async with platform(name, homeserver) as at:
        at.bot += "\nfile_mb = 1"
        async with house(at, tmp_path):
            await at.hand(f"{at.mention}echo seen", "log.txt", bytes(1_000_001))
            await at.told("log.txt did not reach me: it is larger than 1 MB.")
            await at.told("seen")


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
