"""Gemini CLI borrowed as a model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.headless.model import HeadlessModel
from adapters.headless.programs import GEMINI
from contract.agent import Tool
from contract.errors import ModelError
from tests.doubles.gemini_api import GeminiAPI
from tests.doubles.model_steps import Fault
from tests.every_agent.cli_gemini import CLI
from tests.every_agent.stage import NO_PROXY, require

NOTE = Tool("note", "Take a note.", {"type": "object", "properties": {"text": {"type": "string"}}})
STRANGER = "http://127.0.0.1:1"


@pytest.fixture
async def api() -> AsyncIterator[GeminiAPI]:
    require(CLI)
    async with GeminiAPI.open() as api:
        yield api


def gemini(api: GeminiAPI, home: Path) -> HeadlessModel:
    env = {
        **CLI.env(api.url),
        "PATH": os.environ["PATH"],
        "HTTP_PROXY": STRANGER,
        "HTTPS_PROXY": STRANGER,
        "NO_PROXY": NO_PROXY,
    }
    command = (str(CLI.program),)
    return HeadlessModel(
        GEMINI, command=command, home=home, env=env, model="gemini-2.5-pro", timeout_s=90
    )


async def test_it_answers_without_tools_or_a_trace(api: GeminiAPI, tmp_path: Path) -> None:
    api.default = '{"text": "a note 👩‍👩‍👧 <!-- c -->"}'
    prompt = "/clear\n!ls\n# remember\n@/etc/hostname says <x> ``` ü"
    model = gemini(api, tmp_path)
    completion = await model.complete(system="You take notes.", prompt=prompt, tool=NOTE)
    assert [call.input for call in completion.calls] == [{"text": "a note 👩‍👩‍👧 <!-- c -->"}]
    usage = completion.usage
    assert (usage.model, usage.input_tokens, usage.output_tokens) == ("gemini-2.5-pro", 1000, 50)
    [request] = api.requests
    assert not [tool for tool in request.body["tools"] if tool.get("functionDeclarations")]
    assert request.prompt.endswith(prompt)
    assert request.system.startswith("You take notes.")
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in kept] == ["settings.json"]


async def test_what_the_api_refuses_is_told(api: GeminiAPI, tmp_path: Path) -> None:
    api.default = Fault.unauthorized()
    with pytest.raises(ModelError) as caught:
        await gemini(api, tmp_path).complete(system="s", prompt="p")
    assert (str(caught.value), caught.value.passing) == ("Gemini CLI: it reports HTTP 401", False)
