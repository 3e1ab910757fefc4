"""Each agent in a sandbox: it starts, answers, resumes, and can't read what is not its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.agent import Sandbox
from adapters.sandbox.relay import Allowed, Relay
from tests.doubles.cells import bwrap
from tests.every_agent.stage import Cli, Stage, asked

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

SECRET = "the word is xylophone"
UNBOXED = ("codex", "qwen")  # that it could be read is shown by these; a start takes seconds


@pytest_asyncio.fixture(loop_scope="session")
async def secret(stage: Stage) -> AsyncIterator[Path]:
    """Something beside the scopes' folders."""
    path = stage.folder / "private" / "secret"
    path.parent.mkdir(exist_ok=True)
    path.write_text(SECRET)
    yield path
    stage.api.forget()


async def test_it_answers_and_goes_on_in_a_sandbox(stage: Stage, cli: Cli, secret: Path) -> None:
    sandbox = Sandbox(bwrap(), forbidden=(secret,))
    agent = stage.agent("boxed", sandbox=sandbox)
    stage.api.when("are you there?", "Here, in a box.")
    stage.api.when("and now?", "Still here.")
    assert (await asked(agent, "are you there?")).text == "Here, in a box."
    assert (await asked(agent, "and now?")).text == "Still here."
    session = agent.session_id
    await agent.close()
    if not cli.profile.program.resume:
        return
    stage.api.when("once more", "As I said.")
    again = stage.agent("boxed", sandbox=sandbox, session_id=session)
    assert (await asked(again, "once more")).text == "As I said."
    assert again.resumed
    await again.close()


@pytest.mark.parametrize("boxed", [True, False])
async def test_its_tool_reads_a_secret_only_without_a_sandbox(
    stage: Stage, cli: Cli, secret: Path, boxed: bool
) -> None:
    if cli.shell is None:
        pytest.skip("it runs no commands")
    if not boxed and cli.profile.name not in UNBOXED:
        pytest.skip("that it could be read is shown by others")
    scope = f"reads-{boxed}"
    box = Sandbox(bwrap(), forbidden=(secret,)) if boxed else None
    agent = stage.agent(scope, sandbox=box)
    stage.api.when("read it", cli.shell(f"cat {secret} || echo it is not there"), "Done.")
    answer = await asked(agent, "read it", *[0] * 4)
    await agent.close()
    assert answer.text == "Done."
    told = str(stage.api.turns[-1].body)
    assert ("xylophone" in told) is not boxed
    assert not boxed or "No such file" in told


async def test_it_works_without_a_network(stage: Stage, cli: Cli) -> None:
    """Its API and Moot's hooks are all that it reaches."""
    api = Allowed.of_url(stage.api.url)
    assert api
    relay = await Relay.open({api, Allowed.parse(stage.hooks.endpoint)})
    sandbox = Sandbox(bwrap(), network="none", relay=relay.socket, ports=relay.ports)
    agent = stage.agent("offline", sandbox=sandbox)
    stage.api.forget()
    stage.api.when("are you offline?", "Nearly.")
    try:
        assert (await asked(agent, "are you offline?")).text == "Nearly."
    finally:
        await agent.close()
        await relay.close()
