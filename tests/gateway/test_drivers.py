"""Which driver a persona's agent gets: its terminal, or the Agent Client Protocol."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.acp.session import AcpAgent
from adapters.agent import Driver, Launch
from adapters.cli.session import CliAgent
from contract.errors import AgentError
from gateway.cli.diagnosis.configuration import check
from gateway.sessions.programs import Programs
from gateway.settings.config import Config
from gateway.settings.tables import AgentTable, GatewayTable
from tests.doubles.platform import said
from tests.doubles.running import PERSONA, gateway

HOUSE = Path(__file__).parents[2]
DOUBLE = AgentTable(
    driver="acp",
    command=(sys.executable, "-m", "tests.doubles.acp_agent"),
    env={"PYTHONPATH": str(HOUSE), "MOOT_DEMO_PACE": "0"},
    settings={"title": "The double"},
)
DEMO = AgentTable(profile="demo", env={"MOOT_DEMO_PACE": "0"})


def programs(tables: Mapping[str, AgentTable]) -> Programs:
    return Programs(tables, {"PATH": "/usr/bin:/bin"}, cast(Any, None))


async def opened(table: AgentTable, tmp_path: Path, **changes: Any) -> CliAgent | AcpAgent:
    """A session of it, closed again."""
    launch = Launch(tmp_path / "home", tmp_path / "work", **changes)
    agent = await programs({"a": table})("a").open(launch)
    await agent.close()
    assert isinstance(agent, CliAgent | AcpAgent)
    return agent


@pytest.mark.parametrize(
    ("persona", "kind"), [(None, AcpAgent), ("acp", AcpAgent)], ids=["its agent's", "its own"]
)
async def test_an_agent_is_opened_with_its_driver(
    tmp_path: Path, persona: Driver | None, kind: type
) -> None:
    agent = await opened(DOUBLE, tmp_path, driver=persona)
    assert type(agent) is kind


async def test_the_personas_driver_goes_before_the_agents(tmp_path: Path) -> None:
    table = DEMO.model_copy(update={"driver": "acp"})
    assert type(await opened(table, tmp_path, driver="terminal")) is CliAgent


async def test_an_agent_that_does_not_speak_it_says_so_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        await opened(DEMO, tmp_path, driver="acp")
    assert caught.value.kind == "missing"
    assert caught.value.say.startswith(
        "The demo agent does not speak the Agent Client Protocol: an administrator sets "
        '`driver` to "terminal"'
    )


async def test_a_session_of_one_driver_is_not_given_to_the_other(tmp_path: Path) -> None:
    spoken = await opened(DOUBLE, tmp_path)
    typed = await opened(DEMO, tmp_path, session_id=spoken.session_id)
    assert not typed.resumed
    again = await opened(DOUBLE, tmp_path, session_id=typed.session_id)
    assert not again.resumed
    assert (await opened(DOUBLE, tmp_path, session_id=again.session_id)).resumed


async def test_a_persona_that_changes_its_driver_begins_a_session(tmp_path: Path) -> None:
    async with gateway(tmp_path) as moot:
        await moot.hear(said("@demo one"))
        await moot.settle()
        file = tmp_path / "personas" / "demo.md"
        file.write_text(PERSONA.format("demo").replace("---\n", "---\ndriver: acp\n", 1))
        moot.house.personas.refresh()
        await moot.hear(said("@demo two"))
        await moot.hear(said("@demo three"))
        await moot.settle()
        assert [launch.driver for launch in moot.programs.launches] == [None, "acp"]
        assert moot.programs.agents[0].closed


async def test_a_room_is_answered_over_the_protocol(tmp_path: Path) -> None:
    agents = cast(Any, programs({"scripted": DOUBLE}))
    async with gateway(tmp_path, programs=agents) as moot:
        try:
            await moot.hear(said("@demo hello"))
            await moot.settle()
            assert moot.texts() == ["I respond to Ash in room #general."]
        finally:
            await moot.house.sessions.close()


def test_the_check_names_a_persona_whose_agent_does_not_speak_it(tmp_path: Path) -> None:
    (tmp_path / "ash.md").write_text("---\nagent: demo\ndriver: acp\n---\n")
    (tmp_path / "ben.md").write_text("---\nagent: mine\n---\n")
    config = Config(gateway=GatewayTable(personas_dir=tmp_path), agents={"mine": DOUBLE})
    mistakes = [f.text for f in check(config, {"PATH": "/usr/bin:/bin"}) if f.mistake]
    (mistake,) = mistakes
    assert mistake.startswith("@ash can't answer: The demo agent does not speak")
