"""The double of the Responses API, looked at by OpenAI's own client."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.doubles.model_steps import Fault, Message, Text, Thinking, ToolUse
from tests.doubles.responses_api import ResponsesAPI

SHELL = {"type": "function", "name": "shell", "parameters": {"type": "object"}, "strict": False}
PATCH = {"type": "custom", "name": "apply_patch"}
ASK: Any = {"model": "double", "tools": [SHELL, PATCH], "input": "hi"}


@pytest.fixture
async def api() -> AsyncIterator[ResponsesAPI]:
    async with ResponsesAPI.open() as api:
        yield api


@pytest.fixture
async def client(api: ResponsesAPI) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="dummy", max_retries=0) as client:
        yield client


async def answer(client: AsyncOpenAI, streams: bool, **ask: Any) -> Any:
    """The final response; streamed, it is put together from the events."""
    if not streams:
        return await client.responses.create(**ask)
    async with client.responses.stream(**ask) as stream:
        return await stream.get_final_response()


async def test_a_streamed_text_arrives_however_it_was_torn(
    api: ResponsesAPI, client: AsyncOpenAI
) -> None:
    api.queue(Message((Thinking("hm"), Text("漢字 👩‍👩‍👧 **x**")), delta=1, wire=1))
    said, last = "", ""
    async for event in await client.responses.create(stream=True, **ASK):
        said += event.delta if event.type == "response.output_text.delta" else ""
        last = event.type
    assert (said, last, api.prompt) == ("漢字 👩‍👩‍👧 **x**", "response.completed", "hi")


@pytest.mark.parametrize("streams", [True, False])
async def test_thoughts_are_apart_from_the_text(
    api: ResponsesAPI, client: AsyncOpenAI, streams: bool
) -> None:
    api.queue(Message((Thinking("hm"), Text("yes"))))
    response = await answer(client, streams, **ASK)
    assert (response.output_text, response.output[0].summary[0].text) == ("yes", "hm")
    assert (response.status, response.usage.total_tokens) == ("completed", 1050)


@pytest.mark.parametrize("streams", [True, False])
async def test_tool_calls_arrive_whole(
    api: ResponsesAPI, client: AsyncOpenAI, streams: bool
) -> None:
    calls = (
        ToolUse("shell", {"command": "ls 'a b'"}),
        ToolUse("apply_patch", {"input": "*** é\n"}),
    )
    api.when("hi", Message(calls), ToolUse("shell", {}), "Done.")
    response = await answer(client, streams, **ASK)
    shell, patch = response.output
    assert (shell.name, shell.arguments) == ("shell", '{"command": "ls \'a b\'"}')
    assert (patch.type, patch.input) == ("custom_tool_call", "*** é\n")
    given: list[Any] = [{"role": "user", "content": "hi"}]
    texts = []
    for call, kind in ((shell, "function_call"), (shell, "function_call")):
        given += [
            {"type": kind, "call_id": call.call_id, "name": "shell", "arguments": "{}"},
            {"type": f"{kind}_output", "call_id": call.call_id, "output": "x"},
        ]
        then = await answer(client, streams, **{**ASK, "input": given})
        texts.append(then.output_text or then.output[0].type)
    assert texts == ["function_call", "Done."]


async def test_an_answer_that_was_cut_off_says_so(api: ResponsesAPI, client: AsyncOpenAI) -> None:
    api.queue(Message((Text("so"),), stop="max_tokens"))
    response = await client.responses.create(**ASK)
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.limited(), openai.RateLimitError),
        (Fault.unauthorized(), openai.AuthenticationError),
        (Fault.too_long(), openai.BadRequestError),
        (Fault.broken(), openai.InternalServerError),
    ],
)
async def test_a_fault_is_the_error_that_it_stands_for(
    api: ResponsesAPI, client: AsyncOpenAI, fault: Fault, error: type[openai.APIStatusError]
) -> None:
    api.queue(fault)
    with pytest.raises(error) as caught:
        await client.responses.create(**ASK)
    assert fault.message in caught.value.message


async def test_a_fault_may_come_in_the_stream(api: ResponsesAPI, client: AsyncOpenAI) -> None:
    api.queue(Fault(500, "server_error", "It broke.", in_stream=True))
    seen = [event async for event in await client.responses.create(stream=True, **ASK)]
    last: Any = seen[-1]
    assert (last.type, last.response.error.message) == ("response.failed", "It broke.")


async def test_what_the_client_adds_is_no_prompt(api: ResponsesAPI, client: AsyncOpenAI) -> None:
    added = {"role": "user", "content": "<environment_context>x</environment_context>"}
    told = {"role": "developer", "content": "Be Ash."}
    mine = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    await client.responses.create(**{**ASK, "input": [told, added, mine]}, instructions="Be.")
    assert (api.turns[-1].history, api.turns[-1].system) == (["hi"], "Be.\nBe Ash.")


async def test_a_request_without_tools_uses_nothing_up(
    api: ResponsesAPI, client: AsyncOpenAI
) -> None:
    api.queue("for the turn")
    aside = await client.responses.create(model="double", input="a title?")
    headers = {"x-codex-turn-metadata": '{"thread_source": "thread_title"}'}
    titled = await client.responses.create(**ASK, extra_headers=headers)
    turn = await client.responses.create(**ASK)
    assert aside.output_text == titled.output_text == '{"title": "A fake title"}'
    assert turn.output_text == "for the turn"
    assert [model.id async for model in client.models.list()] == ["double"]
