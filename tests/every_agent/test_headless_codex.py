"""Codex borrowed as a model: one run of `codex exec`, nothing done and nothing kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.headless.model import HeadlessModel
from adapters.headless.programs import PROGRAMS
from contract.agent import Tool
from contract.errors import ModelError
from tests.doubles.model_steps import Fault, ToolUse
from tests.doubles.responses_api import ResponsesAPI
from tests.every_agent.cli_codex import CLI
from tests.every_agent.stage import NO_PROXY, require

NOTE = Tool("note", "Notes it.", {"type": "object"})


@pytest.fixture
async def api() -> AsyncIterator[ResponsesAPI]:
    require(CLI)
    async with ResponsesAPI.open() as api:
        yield api


@pytest.fixture
def model(api: ResponsesAPI, tmp_path: Path) -> HeadlessModel:
    env = {**CLI.env(api.url), "PATH": "/usr/bin:/bin", "NO_PROXY": NO_PROXY}
    command = (str(CLI.program),)
    home = tmp_path / "home"
    return HeadlessModel(
        PROGRAMS["codex"], command=command, home=home, env=env, model=CLI.model, timeout_s=90
    )


async def test_it_answers_and_keeps_nothing(
    api: ResponsesAPI, model: HeadlessModel, tmp_path: Path
) -> None:
    api.default = "It is **late**."
    completion = await model.complete(system="Be brief.", prompt="What time of heron is it?")
    assert completion.text == "It is **late**."
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (1000, 50)
    assert "Be brief." in api.prompt
    assert "What time of heron is it?" in api.prompt
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"time of heron" in path.read_bytes()]


async def test_it_calls_a_tool_by_its_words(api: ResponsesAPI, model: HeadlessModel) -> None:
    api.default = '{"text": "x"}'
    completion = await model.complete(system="s", prompt="p", tool=NOTE)
    assert [dict(call.input) for call in completion.calls] == [{"text": "x"}]


async def test_it_has_no_shell(api: ResponsesAPI, model: HeadlessModel, tmp_path: Path) -> None:
    call = ToolUse("exec_command", {"cmd": f"touch {tmp_path}/done"})
    api.when("please", call, "I could not.")
    assert (await model.complete(system="s", prompt="please")).text == "I could not."
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize(
    ("fault", "words", "passing"),
    [
        (Fault.unauthorized(), "HTTP 401", False),
        (Fault.limited(), "HTTP 429", True),
        (Fault.broken(), "error", True),
        (Fault.invalid(), "an error", False),
    ],
)
async def test_a_fault_tells_whether_it_will_pass(
    api: ResponsesAPI, model: HeadlessModel, fault: Fault, words: str, passing: bool
) -> None:
    api.default = fault
    with pytest.raises(ModelError, match=words) as caught:
        await model.complete(system="s", prompt="p")
    assert caught.value.passing is passing
