"""opencode as a borrowed model: one question, one run."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.headless.model import HeadlessModel
from adapters.headless.programs import OPENCODE
from contract.errors import ModelError
from tests.doubles.chat_api import ToollessChatAPI
from tests.doubles.model_steps import Fault
from tests.every_agent.cli_opencode import CLI
from tests.every_agent.stage import NO_PROXY, require

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def api() -> AsyncIterator[ToollessChatAPI]:
    require(CLI)
    async with ToollessChatAPI.open() as api:
        yield api


@pytest_asyncio.fixture
async def model(api: ToollessChatAPI, tmp_path: Path) -> AsyncIterator[HeadlessModel]:
    """opencode with a provider in its own settings, where only loopback answers."""
    strangers: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        strangers.append((await reader.readline()).decode("latin-1").strip())
        writer.close()

    settings = tmp_path / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    options = {"baseURL": f"{api.url}/v1", "apiKey": "sk-dummy"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"double": {}}}
    settings.write_text(json.dumps({"provider": {"lab": provider}}))
    async with await asyncio.start_server(refuse, "127.0.0.1") as server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "NO_PROXY": NO_PROXY}
        env |= dict.fromkeys(names, proxy)
        command = (str(CLI.program),)
        yield HeadlessModel(OPENCODE, command=command, home=tmp_path, env=env, model="lab/double")
    assert (strangers, api.unknown) == ([], [])


async def test_the_answer_is_exact_and_nothing_else_is_asked(
    api: ToollessChatAPI, model: HeadlessModel, tmp_path: Path
) -> None:
    api.default = "It is **so**.\n\n- a\n- b"
    done = await model.complete(system="Be brief.", prompt="what?\n!ls\n@/etc/passwd")
    assert done.text == "It is **so**.\n\n- a\n- b"
    assert (done.usage.input_tokens, done.usage.output_tokens) == (1000, 50)
    (request,) = api.requests
    assert request.prompt.strip().endswith("what?\n!ls\n@/etc/passwd")
    assert not request.body.get("tools")
    assert list(tmp_path.rglob("*.db")) == []


async def test_a_refusal_tells_what_it_is(api: ToollessChatAPI, model: HeadlessModel) -> None:
    api.default = Fault.unauthorized()
    with pytest.raises(ModelError, match="HTTP 401") as caught:
        await model.complete(system="Be brief.", prompt="what?")
    assert not caught.value.passing
