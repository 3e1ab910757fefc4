"""The client of the Messages API beside Anthropic's own SDK, before a double of the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import anthropic
import pytest
from aiohttp import web

from llm.client import VERSION, AnthropicClient, KeptJson
from llm.errors import ApiError
from tests.doubles.api_stage import BareAPI
from tests.doubles.model_steps import Fault, Message, Text, Thinking, ToolUse

ASKED: Mapping[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "漢字, ʻokina, 👩‍👩‍👧"}],
}
USAGE = {"input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3}


@pytest.fixture
async def api() -> AsyncIterator[BareAPI]:
    async with BareAPI.open() as api:
        yield api


def client(api: BareAPI, **given: Any) -> AnthropicClient:
    return AnthropicClient(
        **{"api_key": "k", "base_url": api.url, "timeout_s": 20, "max_retries": 0, **given}
    )


async def from_the_sdk(api: BareAPI) -> Mapping[str, Any]:
    """What Anthropic's SDK makes of a streamed answer."""
    sdk = anthropic.AsyncAnthropic(api_key="k", base_url=api.url)
    async with sdk, sdk.messages.stream(**ASKED) as stream:
        return (await stream.get_final_message()).to_dict(exclude_none=True)


async def said(asked: AnthropicClient) -> list[str]:
    """The texts of a streamed answer as they came."""
    texts: list[str] = []
    try:
        await asked.stream(ASKED, on_text=texts.append, on_block=lambda kind: None)
    finally:
        await asked.close()
    return texts


@pytest.mark.parametrize(
    "message",
    [
        Message((Text("It is 15."),)),
        Message((Text("한국어 é 👩‍👩‍👧‍👦 \u2028 \r\n\x85 end"),), delta=1, wire=1),
        Message((Thinking("Let me see. " * 9), Text("one"), Text("two")), delta=5),
        Message((Text("I look."), ToolUse("search", {"text": 'a "b" {', "n": [1, None]})), delta=3),
        Message((ToolUse("read", {}),)),
        Message((), stop="max_tokens"),
        Message((Text("ok"),), usage=USAGE),
    ],
    ids=["short", "torn", "thought", "tool", "no input", "nothing", "cached"],
)
async def test_it_reads_what_the_sdk_reads(api: BareAPI, message: Message) -> None:
    api.queue(message, message, message)
    theirs = await from_the_sdk(api)
    asked = client(api)
    streamed = await asked.stream(ASKED, on_text=lambda text: None, on_block=lambda kind: None)
    whole = await asked.create(ASKED)
    await asked.close()
    content: Any = theirs["content"]
    for ours in (streamed, whole):
        assert [{**block, "id": ""} for block in ours.content] == [
            {**block, "id": ""} for block in content
        ]
        assert ours.stop_reason == theirs["stop_reason"]
    usage: Any = theirs["usage"]
    assert streamed.usage.output_tokens == usage["output_tokens"]
    assert streamed.usage.cached_tokens == usage.get("cache_read_input_tokens", 0)
    assert streamed.written_tokens == usage.get("cache_creation_input_tokens", 0)


async def test_it_asks_as_the_sdk_asks(api: BareAPI) -> None:
    await from_the_sdk(api)
    await said(client(api))
    theirs, ours = api.requests
    assert ours.body == theirs.body
    same = ("authorization", "content-type", "anthropic-version")
    assert [ours.headers[name] for name in same] == [theirs.headers[name] for name in same]
    assert ours.headers["anthropic-version"] == VERSION


async def test_a_message_that_is_kept_goes_out_as_it_is_each_time(api: BareAPI) -> None:
    kept = KeptJson(role="user", content='漢字 "quoted" \n \ud83d')
    more = {"role": "assistant", "content": "ok"}
    asked = client(api)
    for messages in ([kept], [kept, more, kept]):
        await asked.create({**ASKED, "messages": messages})
    await asked.close()
    sent = {"role": "user", "content": '漢字 "quoted" \n ?'}  # half a pair is no character
    assert [request.body for request in api.requests] == [
        {**ASKED, "messages": [sent]},
        {**ASKED, "messages": [sent, more, sent]},
    ]


async def test_a_proxy_of_the_environment_is_used_but_not_for_what_it_leaves_out(
    api: BareAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", api.url)
    api.queue("Through the proxy.")
    assert await said(client(api, base_url="http://api.invalid")) == ["Through the proxy."]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    api.queue("Past it.")
    assert await said(client(api)) == ["Past it."]


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        (Fault(400, "invalid_request_error", "no", {"x-should-retry": "true"}), 2),
        (Fault(529, "overloaded_error", "no", {"x-should-retry": "false"}), 1),
        (Fault(408, "timeout_error", "late"), 2),
        (Fault(422, "invalid_request_error", "no"), 1),
    ],
)
async def test_the_api_says_what_is_worth_another_try(
    api: BareAPI, fault: Fault, requests: int
) -> None:
    api.queue(fault, fault)
    with pytest.raises(ApiError):
        await said(client(api, max_retries=1))
    assert len(api.requests) == requests


async def test_an_error_page_of_a_proxy_is_told_by_its_status() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(status=502, text="<h1>Bad Gateway</h1>", content_type="text/html")

    app = web.Application()
    app.router.add_post("/v1/messages", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    asked = AnthropicClient(api_key="k", base_url=url, timeout_s=20, max_retries=0)
    with pytest.raises(ApiError) as caught:
        await said(asked)
    await runner.cleanup()
    assert (caught.value.fault, caught.value.status, caught.value.words) == ("failed", 502, "")
