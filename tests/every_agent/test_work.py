"""The work that every agent with a shell reports, while it goes on and at its end."""

import pytest

from adapters.cli.session import CliAgent
from contract.work import Work
from tests.every_agent.stage import HEADER, Stage
from tests.every_agent.test_permission import Person

TELLS_AT_END = {"gemini"}  # its record has a tool once it has run
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_command_that_fails_is_a_step_with_its_outcome(
    stage: Stage, agent: CliAgent
) -> None:
    if stage.cli.shell is None:
        pytest.skip("it has no shell")
    person = Person(allows=True)
    script = stage.cli.shell("touch made && exit 3"), stage.cli.shell("touch fine"), "Both ran."
    stage.api.when("work please", *script)
    answer = await agent.ask(f"{HEADER}work please", person)
    assert answer.text == "Both ran."
    told: Work = person.works[-1]
    failed, fine = told.steps
    assert "exit 3" in failed.detail
    assert (failed.state, failed.note) == ("failed", "exit 3")
    assert (fine.state, fine.note) == ("done", "")
    assert "touch fine" in fine.detail
    assert stage.cli.name in TELLS_AT_END or any(
        step.state == "running" for work in person.works for step in work.steps
    )
