"""The modes of every agent that has them: plan, ask, auto, one after the other in one session."""

from dataclasses import replace

import pytest

from adapters.agent import Mode
from adapters.cli.session import CliAgent
from contract.agent import Answer
from tests.every_agent.stage import Stage
from tests.every_agent.test_permission import Person, outcome, touch

pytestmark = pytest.mark.asyncio(loop_scope="session")
ESCALATES = ("sandbox_permissions", "justification")
# What shows that it plans, where it asks all the same before it runs a command.
PLANS = {"claude-code": "plan mode on", "copilot": "Plan", "opencode": "Plan"}


def screen(agent: CliAgent) -> str:
    """What stands on its screen."""
    return "\n".join("".join(text for text, _ in row) for row in agent.picture())


async def test_a_mode_says_how_much_it_may_do_and_the_session_goes_on(stage: Stage) -> None:
    has: list[Mode] = [mode for mode in ("plan", "ask", "auto") if mode in stage.cli.profile.modes]
    if not has:
        pytest.skip("it has no modes")
    scope, session_id = "modes", None
    temporary = stage.work(scope) / "tmp"  # in the machine's own Codex makes no sandbox
    temporary.mkdir(parents=True)
    env = (*stage.env().items(), ("TMPDIR", str(temporary)))
    for mode in has:
        file, person = stage.work(scope) / mode, Person(allows=mode == "ask")
        agent = stage.agent(scope, mode=mode, session_id=session_id, env=env)
        await agent.start()
        assert agent.resumed == (mode != has[0])
        assert mode != "plan" or PLANS.get(stage.cli.name, "") in screen(agent)
        call = touch(stage, file)
        if mode == "auto":  # where nobody is asked, no model of Codex asks to leave its sandbox
            kept = {key: value for key, value in call.input.items() if key not in ESCALATES}
            call = replace(call, input=kept)
        stage.api.when(f"{mode} please", call, f"So be it: {mode}.")
        end = await outcome(agent, f"{mode} please", person)
        assert file.exists() == (mode != "plan"), (mode, end, [q.detail for q in person.questions])
        if mode != "plan":
            assert len(person.questions) == (mode == "ask")
            assert isinstance(end, Answer)
            assert end.text == f"So be it: {mode}."
        session_id = agent.session_id
        await agent.close()
