"""The double of the Chat Completions API, looked at by OpenAI's own client."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.doubles.chat_api import ChatAPI
from tests.doubles.model_steps import Fault, Message, Text, Thinking, ToolUse

TOOL: Any = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}
ASK: Any = {"model": "double", "tools": [TOOL], "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
async def api() -> AsyncIterator[ChatAPI]:
    async with ChatAPI.open() as api:
        yield api


@pytest.fixture
async def client(api: ChatAPI) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="dummy", max_retries=0) as client:
        yield client


async def test_a_streamed_text_arrives_however_it_was_torn(
    api: ChatAPI, client: AsyncOpenAI
) -> None:
    api.queue(Message((Thinking("hm"), Text("漢字 👩‍👩‍👧 **x**")), delta=1, wire=1))
    said, ends = "", []
    async for chunk in await client.chat.completions.create(stream=True, **ASK):
        said += chunk.choices[0].delta.content or ""
        ends.append(chunk.choices[0].finish_reason)
    assert (said, ends[-1], api.prompt) == ("漢字 👩‍👩‍👧 **x**", "stop", "hi")


@pytest.mark.parametrize("streams", [True, False])
async def test_a_tool_call_arrives_whole(api: ChatAPI, client: AsyncOpenAI, streams: bool) -> None:
    api.when("hi", ToolUse("shell", {"command": "ls 'a b'"}), "Done.")
    if streams:
        async with client.chat.completions.stream(**ASK) as stream:
            completion: Any = await stream.get_final_completion()
    else:
        completion = await client.chat.completions.create(**ASK)
    choice = completion.choices[0]
    call = choice.message.tool_calls[0]
    assert (call.function.name, choice.finish_reason) == ("shell", "tool_calls")
    assert call.function.arguments == '{"command": "ls \'a b\'"}'
    back = [
        *ASK["messages"],
        {"role": "assistant", "tool_calls": [call.model_dump(include={"id", "type", "function"})]},
        {"role": "tool", "tool_call_id": call.id, "content": "x"},
    ]
    then = await client.chat.completions.create(**{**ASK, "messages": back})
    assert then.choices[0].message.content == "Done."


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
    api: ChatAPI, client: AsyncOpenAI, fault: Fault, error: type[openai.APIStatusError]
) -> None:
    api.queue(fault)
    with pytest.raises(error) as caught:
        await client.chat.completions.create(**ASK)
    assert fault.message in caught.value.message


async def test_a_request_without_tools_uses_nothing_up(api: ChatAPI, client: AsyncOpenAI) -> None:
    api.queue("for the turn")
    aside = await client.chat.completions.create(
        model="double", messages=[{"role": "user", "content": "a title?"}]
    )
    turn = await client.chat.completions.create(**ASK)
    assert aside.choices[0].message.content == "A fake title"
    assert turn.choices[0].message.content == "for the turn"
    assert [model.id async for model in client.models.list()] == ["double"]
