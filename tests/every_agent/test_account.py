"""Each agent under an account of its own: it starts, answers, and its shell gets at no other's."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.cli.session import CliAgent
from adapters.sandbox.account import LAST, end_account, give, no_accounts
from contract.errors import AgentError
from tests.every_agent.stage import Cli, Stage, asked, clis

pytestmark = [
    pytest.mark.long,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(os.geteuid() != 0, reason="who gives accounts away is root"),
]


@pytest_asyncio.fixture(loop_scope="session")
async def agent(stage: Stage, cli: Cli) -> AsyncIterator[CliAgent]:
    """One whose HOME and workspace belong to its account."""
    folder = Path(tempfile.mkdtemp(prefix="moot-account-"))
    folder.chmod(0o755)
    assert not no_accounts(folder / "data")
    account = LAST - clis().index(cli)  # they run at the same time
    home, work = folder / "home", folder / "work"
    for own in (home, work):
        own.mkdir(mode=0o700)
        give(own, account, of=0)
    agent = stage.agent("account", home=home, workspace=work, account=account)
    yield agent
    await agent.close()
    end_account(account)
    shutil.rmtree(folder)
    stage.api.forget()


async def test_it_answers_and_its_tool_runs(stage: Stage, cli: Cli, agent: CliAgent) -> None:
    stage.api.forget()
    stage.api.when("are you there?", "Here, as somebody else.")
    try:
        answer = await asked(agent, "are you there?")
    except AgentError as error:
        if error.kind != "missing":
            raise
        pytest.skip(error.say)
    assert answer.text == "Here, as somebody else."
    if cli.shell is None:
        return
    secret = stage.folder / "secret"
    secret.write_text("the word is xylophone")
    stage.api.when("read it", cli.shell(f"id -u; cat {secret} || echo it is not there"), "Done.")
    assert (await asked(agent, "read it", *[0] * 4)).text == "Done."
    told = str(stage.api.turns[-1].body)
    assert str(LAST - clis().index(cli)) in told
    assert "xylophone" not in told
