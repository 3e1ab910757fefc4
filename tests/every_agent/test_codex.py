"""What only Codex has: its sandbox, its patches, models that call tools from a script."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.agent import MemoryServer
from adapters.cli.session import CliAgent
from contract.errors import AgentError
from tests.doubles.model_steps import Fault, Message, Text, ToolUse
from tests.doubles.replies import Replies
from tests.every_agent.cli_codex import CLI
from tests.every_agent.stage import HEADER, Stage, asked, failed, require

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCRIPTED = "gpt-6.1-sol"  # a model that calls its tools from a script
PATCH = "*** Begin Patch\n*** Add File: {0}\n+hello\n+world\n*** End Patch\n"
SERVER = """
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("moot")
@server.tool()
def recall(word: str) -> str:
    return f"{word} flies, {os.environ['MOOT_TEST_KEY']}"
server.run()
"""


own_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is not None and os.getuid() == 0,
    reason="run by root, Codex's own sandbox says nothing with a bubblewrap of the system's",
)
"""Codex takes the system's bubblewrap where there is one, and then its commands have no output."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    require(CLI)
    async with Stage.open(CLI, tmp_path_factory.mktemp("codex")) as stage:
        yield stage


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(stage: Stage) -> CliAgent:
    return stage.agent()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scripted(stage: Stage) -> CliAgent:
    return stage.agent("scripted", model=SCRIPTED)


@own_sandbox
async def test_a_command_that_did_not_ask_can_only_read(stage: Stage, shared: CliAgent) -> None:
    command = "touch unasked; cat /proc/self/status > /dev/null && echo read; env"
    stage.api.when("unasked", ToolUse("exec_command", {"cmd": command}), "Done.")
    reply = Replies()
    answer = await shared.ask(f"{HEADER}unasked", reply)
    (use,) = answer.uses
    assert (reply.questions, (stage.work() / "unasked").exists()) == ([], False)
    assert use.result
    assert "read\n" in use.result
    assert "OPENAI_API_KEY" not in use.result


async def test_a_patch_is_asked_for_with_what_it_changes(stage: Stage, shared: CliAgent) -> None:
    patch = ToolUse("apply_patch", {"input": PATCH.format("new.txt")})
    stage.api.when("patch it", Message((Text("I will."), patch)), "Patched.")
    reply = Replies((0,))
    answer = await shared.ask(f"{HEADER}patch it", reply)
    (question,) = reply.questions
    assert "new.txt" in question.detail
    assert "+world" in question.detail
    assert [option.refuses for option in question.options] == [False, False, True]
    assert (stage.work() / "new.txt").read_text() == "hello\nworld\n"
    assert (answer.text, answer.tools) == ("Patched.", ("apply_patch: new.txt",))


async def test_a_script_of_the_model_asks_for_what_it_does(
    stage: Stage, scripted: CliAgent
) -> None:
    file = stage.work("scripted") / "made"
    call = f"await tools.exec_command({{cmd: 'touch {file}', sandbox_permissions:"
    call += " 'require_escalated', justification: 'May I?'})"
    stage.api.when("script", ToolUse("exec", {"input": f"text((await {call}).output)"}), "Ran.")
    for choice, made in ((2, False), (0, True)):
        reply = Replies((choice,))
        if made:
            answer = await scripted.ask(f"{HEADER}script {choice}", reply)
            assert (answer.text, [use.given for use in answer.uses]) == ("Ran.", [f"touch {file}"])
        else:
            with pytest.raises(AgentError, match="interrupted"):
                await scripted.ask(f"{HEADER}script {choice}", reply)
        assert (len(reply.questions), file.exists()) == (1, made)


async def test_its_memory_is_looked_into_without_asking(stage: Stage, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    memory = MemoryServer((sys.executable, str(server)), (("MOOT_TEST_KEY", "k"),))
    agent = stage.agent("memory", model=SCRIPTED, memory=memory)
    script = "text(JSON.stringify(await tools.mcp__moot__recall({word: 'heron'})))"
    stage.api.when("which bird", ToolUse("exec", {"input": script}), "The heron.")
    for _ in range(20):  # the server starts beside the session
        answer = await asked(agent, "which bird?")
        if any("heron flies, k" in (use.result or "") for use in answer.uses):
            break
    assert answer.text == "The heron."
    assert ("moot.recall", False) in [(use.tool, use.failed) for use in answer.uses]
    config = (stage.folder / "memory" / ".codex" / "config.toml").read_text()
    assert '"k"' not in config
    await agent.close()


async def test_a_session_that_goes_on_has_todays_persona(stage: Stage) -> None:
    agent = stage.agent("persona", persona="You are Ash.")
    await asked(agent, "hello")
    await agent.close()
    again = stage.agent("persona", persona="You are Elm.", session_id=agent.session_id)
    await asked(again, "hello again")
    assert again.resumed
    assert "You are Elm." in str(stage.api.turns[-1].body["input"])
    await again.close()


async def test_a_lost_session_begins_anew(stage: Stage) -> None:
    agent = stage.agent("lost")
    await asked(agent, "hello")
    await agent.close()
    lost = stage.agent("lost", session_id="01a20216-8ffa-7ca0-b319-13641ab87cfd")
    answer = await asked(lost, "hello again")
    assert (answer.source, lost.resumed) == ("record", False)
    assert lost.session_id
    assert lost.session_id != agent.session_id
    await lost.close()


async def test_it_compacts_with_any_api(stage: Stage) -> None:
    agent = stage.agent("compacted")
    stage.api.forget()
    await asked(agent, "remember the word heron")
    stage.api.aside = "It was of a heron."
    await agent.compact()
    await asked(agent, "which word?")
    assert "It was of a heron." in str(stage.api.turns[-1].body["input"])
    await agent.close()


async def test_a_mention_at_the_end_takes_no_enter(stage: Stage, shared: CliAgent) -> None:
    stage.work().mkdir(parents=True, exist_ok=True)
    (stage.work() / "seven.txt").write_text("7")
    for end in ("@seven.txt", "@sev", "$skill-crea"):
        assert (await asked(shared, f"what of {end}")).text == "ok"
        assert stage.api.prompt == f"{HEADER}what of {end}"


async def test_without_a_login_it_says_what_to_do(stage: Stage) -> None:
    env = {name: value for name, value in stage.env().items() if not name.startswith("OPENAI_")}
    agent = stage.agent("nobody", env=tuple(env.items()), model=None)
    error = await failed(agent, "hello")
    assert (error.kind, "OPENAI_API_KEY" in str(error.say)) == ("login", True)


@own_sandbox
async def test_a_shared_login_and_settings_are_used(stage: Stage, tmp_path: Path) -> None:
    shared = tmp_path / ".codex"
    shared.mkdir()
    (shared / "auth.json").write_text('{"OPENAI_API_KEY": "sk-of-the-login"}')
    settings = f'openai_base_url = "{stage.api.url}/v1"\nsandbox_mode = "workspace-write"\n'
    (shared / "config.toml").write_text(settings)
    env = {name: value for name, value in stage.env().items() if not name.startswith("OPENAI_")}
    agent = stage.agent("login", env=tuple(env.items()), login=tmp_path)
    stage.api.when("write it", ToolUse("exec_command", {"cmd": "touch written"}), "Written.")
    assert (await asked(agent, "write it")).text == "Written."
    assert stage.api.turns[-1].headers["authorization"] == "Bearer sk-of-the-login"
    assert (stage.work("login") / "written").exists()
    await agent.close()


async def test_an_api_that_is_not_there_is_no_long_silence(stage: Stage) -> None:
    env = {**stage.env(), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    agent = stage.agent("away", env=tuple(env.items()))
    error = await failed(agent, "hello")
    assert (error.kind, error.say is not None) == ("api", True)
    await agent.close()


async def test_a_stream_that_breaks_is_asked_for_again(stage: Stage, shared: CliAgent) -> None:
    stage.api.forget()
    stage.api.queue(Message((Text("One line.\n\nAnother one."),), delta=4, cut=3), "Whole.")
    assert (await asked(shared, "break")).text == "Whole."
    stage.api.queue(*[Fault.overloaded()] * 2)
    assert (await asked(shared, "busy")).text == "ok"


@pytest.mark.parametrize("steps", [4, 9, 15, 22])
async def test_a_stop_leaves_no_line_out(stage: Stage, shared: CliAgent, steps: int) -> None:
    """Lines that are done wait for a moment before they are drawn above the one that grows."""
    stage.api.forget()
    text = "\n".join(f"Step {i} of the work that is done here." for i in range(1, 60))
    stage.api.when("steps", Message((Text(text),), delta=9, pause_s=0.02))
    reply = Replies()
    asking = asyncio.create_task(shared.ask(f"{HEADER}steps", reply))
    async with asyncio.timeout(30):
        while f"Step {steps} " not in "".join(reply.drafts[-1:]):
            await asyncio.sleep(0.01)
    await shared.interrupt()
    with pytest.raises(AgentError) as caught:
        await asking
    assert text.startswith(caught.value.partial)
