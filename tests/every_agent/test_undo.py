"""`!undo`: a program takes back its last exchange, and what it changed, by its own means."""

import subprocess

import pytest

from contract.errors import AgentError
from tests.doubles.replies import Replies
from tests.every_agent.stage import HEADER, Stage, asked

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_last_exchange_is_taken_back(stage: Stage) -> None:
    agent = stage.agent("undo")
    if stage.cli.profile.controls.undo is None:
        with pytest.raises(AgentError) as caught:
            await agent.undo()
        assert "can't take back an answer" in (caught.value.say or "")
        return
    edit, file = stage.cli.edit, stage.work("undo") / "made.txt"
    repository = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(file.parent))
    file.parent.mkdir(parents=True)
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run((*repository, *words), check=True)
    await agent.start()
    stage.api.when("say kiwi", "Kiwi.")
    stage.api.when("say mango", edit(str(file)) if edit else "Mango.", "Mango.")
    assert (await asked(agent, "say kiwi")).text == "Kiwi."
    await agent.ask(f"{HEADER}say mango", Replies([0] * 4))
    assert file.exists() == bool(edit)
    restored = await agent.undo()
    if edit and restored:
        assert not file.exists()
    stage.api.when("say cherry", "Cherry.")
    answer = await asked(agent, "say cherry")
    assert (answer.text, answer.source) == ("Cherry.", "record" if stage.cli.record else "screen")
    known = str(stage.api.turns[-1].body)
    assert "say kiwi" in known
    assert "say mango" not in known
    await agent.undo()
    await agent.undo()
    stage.api.when("say lemon", "Lemon.")
    assert (await asked(agent, "say lemon")).text == "Lemon."
    known = str(stage.api.turns[-1].body)
    assert "say kiwi" not in known
    assert "say cherry" not in known
