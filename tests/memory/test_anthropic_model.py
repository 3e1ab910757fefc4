"""The Anthropic API as the model behind the memory, over a double of it on loopback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from contract.agent import Completion, Tool
from contract.errors import ModelError
from memory.anthropic_model import HAIKU, AnthropicModel, Prices
from memory.extraction.extracted import TOOL
from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import Fault, Message, Text, Thinking, ToolUse

NOTE = Tool("note", "Take a note.", {"type": "object", "properties": {"text": {"type": "string"}}})
EMPTY: dict[str, Any] = {"decisions": [], "discussions": [], "attempts": [], "requests": []}


@pytest.fixture
async def api() -> AsyncIterator[MessagesAPI]:
    async with MessagesAPI.open() as api:
        yield api


@pytest.fixture
async def model(api: MessagesAPI) -> AsyncIterator[AnthropicModel]:
    async with AnthropicModel(api_key="k", base_url=api.url, max_retries=2, timeout_s=20) as model:
        yield model


async def ask(model: AnthropicModel, tool: Tool | None = TOOL) -> Completion:
    return await model.complete(system="Extract.", prompt="<conversation>", tool=tool)


async def failure(model: AnthropicModel, tool: Tool | None = TOOL) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, tool)
    return caught.value


async def test_a_tool_is_forced_once_and_checked_by_the_api(
    api: MessagesAPI, model: AnthropicModel
) -> None:
    api.queue(Message((Thinking("hm"), ToolUse(TOOL.name, EMPTY))))
    completion = await ask(model)
    assert [(call.name, call.input) for call in completion.calls] == [(TOOL.name, EMPTY)]
    assert completion.text == ""
    body = api.requests[0].body
    assert body["model"] == HAIKU
    assert body["tool_choice"] == {
        "type": "tool",
        "name": "write_extracted",
        "disable_parallel_tool_use": True,
    }
    assert body["tools"][0]["strict"] is True
    assert body["system"] == [
        {"type": "text", "text": "Extract.", "cache_control": {"type": "ephemeral"}}
    ]
    assert not {"temperature", "top_p", "top_k"} & body.keys()
    assert api.requests[0].headers["authorization"] == "Bearer k"


async def test_without_a_tool_the_text_is_the_answer(
    api: MessagesAPI, model: AnthropicModel
) -> None:
    api.aside = Message((Text("one"), Text("two")))
    completion = await ask(model, None)
    assert (completion.text, completion.calls) == ("one\ntwo", ())
    assert not {"tools", "tool_choice"} & api.requests[0].body.keys()


async def test_a_schema_that_the_api_might_not_take_is_not_strict(
    api: MessagesAPI, model: AnthropicModel
) -> None:
    api.queue(ToolUse("note", {"text": "x"}))
    await ask(model, NOTE)
    assert "strict" not in api.requests[0].body["tools"][0]


async def test_a_model_that_can_not_be_forced_is_told_and_that_is_remembered(
    api: MessagesAPI, model: AnthropicModel
) -> None:
    api.queue(Fault.invalid(), ToolUse(TOOL.name, EMPTY), ToolUse(TOOL.name, EMPTY))
    assert len((await ask(model)).calls) == 1
    assert len((await ask(model)).calls) == 1
    choices = [request.body["tool_choice"]["type"] for request in api.requests]
    assert choices == ["tool", "auto", "auto"]
    assert api.requests[1].body["tools"][0]["strict"] is True
    last = api.requests[1].body["messages"][0]["content"][-1]["text"]
    assert last == "Call the tool write_extracted once. Write no text."


async def test_a_refused_request_is_a_mistake_and_said_without_the_apis_words(
    api: MessagesAPI, model: AnthropicModel
) -> None:
    api.queue(*[Fault(400, "invalid_request_error", "you sent: the secret")] * 4)
    error = await failure(model)
    assert (error.passing, "secret" in str(error)) == (False, False)
    assert len(api.requests) == 4  # every shape once, then no more


@pytest.mark.parametrize(
    ("fault", "requests", "passing"),
    [
        (Fault.limited(), 3, True),
        (Fault.broken(), 3, True),
        (Fault.overloaded(), 3, True),
        (Fault.unauthorized(), 1, False),
        (Fault(404, "not_found_error", "model: x"), 1, False),
    ],
)
async def test_what_may_pass_is_repeated_and_what_is_a_mistake_is_not(
    api: MessagesAPI, model: AnthropicModel, fault: Fault, requests: int, passing: bool
) -> None:
    api.queue(*[fault] * 3)
    assert (await failure(model)).passing is passing
    assert len(api.requests) == requests


async def test_a_refused_key_names_the_remedy(api: MessagesAPI, model: AnthropicModel) -> None:
    api.queue(Fault.unauthorized())
    assert "set another ANTHROPIC_API_KEY" in (await failure(model)).say


async def test_one_overload_is_survived(api: MessagesAPI, model: AnthropicModel) -> None:
    api.queue(Fault.overloaded(), ToolUse(TOOL.name, EMPTY))
    assert len((await ask(model)).calls) == 1


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "model_context_window_exceeded"])
async def test_an_answer_that_was_cut_off_is_an_error_that_still_cost_something(
    api: MessagesAPI, model: AnthropicModel, stop: str
) -> None:
    api.queue(Message((ToolUse(TOOL.name, {}),), stop=stop))
    error = await failure(model)
    assert error.passing is False
    assert error.usage is not None
    assert error.usage.input_tokens == 1000


async def test_what_a_call_took_is_told_with_its_price(api: MessagesAPI) -> None:
    usage = {
        "input_tokens": 100,
        "output_tokens": 50,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 40,
    }
    api.queue(Message((ToolUse(TOOL.name, EMPTY),), usage=usage))
    prices = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
    async with AnthropicModel(api_key="k", base_url=api.url, prices=prices) as model:
        took = (await ask(model)).usage
    assert (took.input_tokens, took.output_tokens, took.cached_tokens) == (740, 50, 600)
    assert took.cost_usd == pytest.approx((100 + 250 + 60 + 50) / 1_000_000)


async def test_without_prices_no_cost_is_told(api: MessagesAPI, model: AnthropicModel) -> None:
    api.queue(ToolUse(TOOL.name, EMPTY))
    assert (await ask(model)).usage.cost_usd is None


async def test_effort_is_sent_when_it_is_configured(api: MessagesAPI) -> None:
    api.queue(ToolUse(TOOL.name, EMPTY))
    async with AnthropicModel(api_key="k", base_url=api.url, effort="low") as model:
        await ask(model)
    assert api.requests[0].body["output_config"] == {"effort": "low"}


async def test_a_call_ends_after_its_time(api: MessagesAPI) -> None:
    api.queue(Message((Text("late"),), hold=0))
    async with AnthropicModel(api_key="k", base_url=api.url, timeout_s=3) as model:
        assert (await failure(model)).passing is True


async def test_nobody_there_may_pass() -> None:
    async with AnthropicModel(api_key="k", base_url="http://127.0.0.1:1", max_retries=0) as model:
        assert (await failure(model)).passing is True


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", "<h1>Sign in</h1>"),
        ("application/json", "<h1>Sign in</h1>"),
        ("application/json", '{"content": [{"type": "tool_use", "name": "wri'),
        ("application/json", "{}"),
        ("application/json", "[]"),
        ("application/json", '"ok"'),
        ("application/json", '{"content": null, "stop_reason": "end_turn", "usage": {}}'),
        ("application/json", ""),
    ],
)
async def test_an_answer_that_is_no_message_is_an_error_and_no_empty_success(
    kind: str, body: str
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=body, content_type=kind)

    async with served(answer) as url, AnthropicModel(api_key="k", base_url=url) as model:
        assert (await failure(model)).passing is False


def served(handler: Any) -> Any:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def serve() -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/v1/messages", handler)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    return serve()


def test_a_gateway_starts_without_what_takes_long_to_import() -> None:
    slow = "{'alembic', 'anthropic', 'httpx2', 'mcp', 'mem0'}"
    code = f"import gateway.app.run, sys; sys.exit(bool({slow} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
