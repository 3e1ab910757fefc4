"""`!model`: another model for one room, from the next turn on."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.catalog import profiles
from contract.chat import Room
from gateway.sessions.sessions import AgentProgram
from gateway.settings.access import AccessTable
from tests.doubles.platform import FakeBot, said
from tests.doubles.running import Opened, gateway
from tests.doubles.scripted import ScriptedPrograms

OTHER = Room("fake:other", "other")


async def say(moot: Opened, *texts: str, room: Room | None = None) -> str:
    for text in texts:
        await moot.hear(said(text, room=room) if room else said(text))
        await moot.settle()
    return moot.texts()[-1]


async def test_a_model_holds_from_the_next_turn_on_and_the_session_goes_on(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        told = await say(moot, "@demo one", "!model opus", "@demo two", "@demo three")
        assert told == "Respond to Ash in room #general."
        launches = moot.programs.launches
        assert [(one.model, one.session_id) for one in launches] == [(None, None), ("opus", "s1")]
        assert "@demo one" in moot.programs.prompts[1], "it is resumed, and given the window again"
        assert "`opus` (chosen here)" in await say(moot, "!model")
        assert "its own default" in await say(moot, "!model default")
        await say(moot, "@demo four")
        assert [one.model for one in moot.programs.launches] == [None, "opus", None]


async def test_a_program_that_would_keep_the_last_model_is_told_its_own_by_name(
    tmp_path: Path,
) -> None:
    """Measured with Claude Code 2.1.330: resumed without --model it goes on with the last one."""
    scripted = ScriptedPrograms()

    def programs(name: str) -> AgentProgram:
        return replace(scripted(name), own_model="default")

    async with gateway(tmp_path, programs=programs) as moot:
        await say(moot, "@demo one", "!model opus", "@demo two", "!model default", "@demo three")
        assert [one.model for one in scripted.launches] == [None, "opus", "default"]
        assert "its own default" in await say(moot, "!model")
        assert "model its own default" in await say(moot, "!status")
    assert profiles()["claude-code"].model.own == "default"


async def test_a_model_is_one_rooms_alone_and_outlives_a_restart(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await say(moot, "!model opus")
    async with gateway(tmp_path) as moot:
        await say(moot, "@demo one")
        await say(moot, "@demo one", room=OTHER)
        assert [one.model for one in moot.programs.launches] == ["opus", None]


@pytest.mark.parametrize(
    "word",
    ["--dangerously-skip-permissions", "-c", "a b", "$(reboot)", "{persona}", "a\x1bb", "x" * 129],
)
async def test_what_is_no_models_name_is_refused(word: str, tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        assert "is no model's name" in await say(moot, f"!model {word}")
        await say(moot, "@demo one")
        assert moot.programs.launches[0].model is None


@pytest.mark.parametrize(
    "word", ["claude-opus-5[1m]", "openai/gpt-6:free", "arn:aws:bedrock:eu-1:1:model/x", "gpt-5.5"]
)
async def test_models_are_called_as_the_programs_call_them(word: str, tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await say(moot, f"!model {word}", "@demo one")
        assert moot.programs.launches[0].model == word


async def test_where_several_are_one_says_whose_model(tmp_path: Path) -> None:
    async with gateway(tmp_path, personas=("demo", "other")) as moot:
        assert "say whose" in await say(moot, "!model opus")
        await say(moot, "!model other opus", "@demo one", "@other one")
        assert [one.model for one in moot.programs.launches] == [None, "opus"]
        await say(moot, "@other !model sonnet", "@other two")
        assert moot.programs.launches[-1].model == "sonnet"


async def test_an_agent_that_takes_no_models_name_says_so(tmp_path: Path) -> None:
    scripted = ScriptedPrograms()

    def programs(name: str) -> AgentProgram:
        return replace(scripted(name), takes_model=False)

    async with gateway(tmp_path, programs=programs) as moot:
        assert "takes no model's name" in await say(moot, "!model opus")
        assert "takes no model's name" in await say(moot, "!model")


async def test_a_guest_chooses_no_model(tmp_path: Path) -> None:
    guests = {"role": "guest", "people": ["fake:ash"]}
    access = AccessTable.model_validate({"grants": [guests]})
    async with gateway(tmp_path, bot=FakeBot(), access=access) as moot:
        assert (await say(moot, "!model opus")).startswith(
            "Ash, `!model` is for members; an owner can"
        )


def test_the_profiles_know_whether_they_take_a_models_name() -> None:
    known = {name for name, profile in profiles().items() if not profile.takes_model}
    assert known == {"demo", "generic"}
