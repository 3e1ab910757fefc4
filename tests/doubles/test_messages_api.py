"""The double itself, by a plain HTTP client. Its independent client is the real Claude Code."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.doubles.messages_api import MessagesAPI
from tests.doubles.model_steps import Fault, Message, Text, Thinking, ToolUse

Json = dict[str, Any]


@pytest.fixture
async def api() -> AsyncIterator[MessagesAPI]:
    async with MessagesAPI.open() as api:
        yield api


def asking(prompt: str, *more: Json, stream: bool = True) -> Json:
    messages = [{"role": "user", "content": prompt}, *more]
    return {"model": "m", "messages": messages, "tools": [{"name": "Bash"}], "stream": stream}


async def post(api: MessagesAPI, body: Json) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{api.url}/v1/messages?beta=true", json=body) as response,
    ):
        return response.status, await response.read()


async def streamed(api: MessagesAPI, body: Json) -> list[Json]:
    status, data = await post(api, body)
    assert status == 200
    chunks = [chunk.split("\n") for chunk in data.decode().strip().split("\n\n")]
    events = [json.loads(line.removeprefix("data: ")) for _, line in chunks]
    assert [f"event: {event['type']}" for event in events] == [name for name, _ in chunks]
    return events


def said(events: list[Json]) -> list[str]:
    texts: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_delta" and "text" in event["delta"]:
            texts[event["index"]] = texts.get(event["index"], "") + event["delta"]["text"]
    return list(texts.values())


async def test_a_reply_comes_back_whole_however_it_is_torn(api: MessagesAPI) -> None:
    text = "Grüße 漢字 👩‍👩‍👧\n"
    api.when("hello", Message((Text(text), Text("two")), delta=1, wire=1))
    assert said(await streamed(api, asking("hello"))) == [text, "two"]
    assert len(api.finished_at) == 1


async def test_events_come_in_the_order_of_the_api(api: MessagesAPI) -> None:
    api.queue(Message((Thinking("hm"), ToolUse("Bash", {"command": "date"})), delta=99))
    events = await streamed(api, asking("x"))
    assert [event["type"] for event in events] == [
        *("message_start", "ping"),
        *("content_block_start", *["content_block_delta"] * 2, "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


async def test_the_step_follows_from_the_tool_results_that_the_request_brings(
    api: MessagesAPI,
) -> None:
    api.when("go", ToolUse("Bash", {}), "done")
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}
    for _ in range(2):  # a repeated request gets the same step
        events = await streamed(api, asking("go"))
        assert events[2]["content_block"]["name"] == "Bash"
    assert said(await streamed(api, asking("go", used, result))) == ["done"]


async def test_a_request_without_tools_is_on_the_side(api: MessagesAPI) -> None:
    api.queue("for the conversation")
    status, data = await post(api, {"messages": [{"role": "user", "content": "title?"}]})
    assert status == 200
    assert json.loads(json.loads(data)["content"][0]["text"]) == {"title": "A fake title"}
    assert api.turns == []
    assert said(await streamed(api, asking("now"))) == ["for the conversation"]
    assert api.prompt == "now"


async def test_faults_have_the_form_of_the_api(api: MessagesAPI) -> None:
    api.queue(Fault.limited(), Fault.overloaded())
    status, data = await post(api, asking("x"))
    assert (status, json.loads(data)["error"]["type"]) == (429, "rate_limit_error")
    status, data = await post(api, asking("x", stream=False))
    assert (status, json.loads(data)["type"]) == (529, "error")


async def test_a_fault_may_come_in_a_stream_that_began_well(api: MessagesAPI) -> None:
    api.queue(Fault(529, "overloaded_error", "Overloaded", in_stream=True))
    events = await streamed(api, asking("x"))
    assert [event["type"] for event in events] == ["message_start", "error"]


async def test_a_cut_stream_breaks_the_connection(api: MessagesAPI) -> None:
    api.queue(Message((Text("cut me off"),), delta=2, cut=2))
    with pytest.raises(aiohttp.ClientPayloadError):
        await post(api, asking("x"))
    assert api.finished_at == []


async def test_a_held_stream_goes_on_when_it_is_released(api: MessagesAPI) -> None:
    api.queue(Message((Text("hold it"),), delta=2, hold=1))
    task = asyncio.create_task(streamed(api, asking("x")))
    await api.holding.wait()
    assert not task.done()
    api.release.set()
    assert said(await task) == ["hold it"]


async def test_it_notices_that_the_client_leaves(api: MessagesAPI) -> None:
    api.queue(Message((Text("hold it"),), hold=0))
    task = asyncio.create_task(post(api, asking("x")))
    await api.holding.wait()
    task.cancel()
    await asyncio.wait({task})
    for _ in range(100):
        await asyncio.sleep(0.01)
        if api.broken_off:
            return
    pytest.fail("nobody noticed")


async def test_what_it_does_not_serve_is_remembered(api: MessagesAPI) -> None:
    async with aiohttp.ClientSession() as session:
        assert (await session.head(api.url)).status == 200
        assert (await session.get(f"{api.url}/v1/models")).status == 404
        tokens = await session.post(f"{api.url}/v1/messages/count_tokens", json=asking("x"))
        assert (await tokens.json())["input_tokens"] > 0
    assert api.unknown == ["GET /v1/models"]
