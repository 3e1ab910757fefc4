"""The listener that the programs' hooks post to."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from adapters.cli.hooks import HELD, HookListener
from gateway.web.listening.listener import serving_hooks


@pytest.fixture
async def listener() -> AsyncIterator[HookListener]:
    async with HookListener.open(serving_hooks()) as hooks:
        yield hooks


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def echo(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"got": payload}


async def test_a_payload_reaches_its_session_and_no_other(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    seen: list[str] = []

    async def other(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append("other")
        return {}

    url = listener.register(echo)
    listener.register(other)
    async with http.post(url, json={"a": "é"}) as response:
        assert await response.json() == {"got": {"a": "é"}}
    assert seen == []


async def test_one_session_does_not_hold_all_connections(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    done = asyncio.Event()

    async def wait(_: Mapping[str, Any]) -> Mapping[str, Any]:
        await done.wait()
        return {}

    greedy, other = listener.register(wait), listener.register(echo)

    async def post() -> int:
        async with http.post(greedy, json={}) as response:
            return response.status

    held = [asyncio.create_task(post()) for _ in range(90)]
    async with asyncio.timeout(20):
        while sum(task.done() for task in held) < 90 - HELD:
            await asyncio.sleep(0.01)
    async with http.post(other, json={}) as response:
        assert response.status == 200
    done.set()
    assert sorted(await asyncio.gather(*held)) == [200] * HELD + [429] * (90 - HELD)
    assert await post() == 200


async def test_it_listens_on_loopback_alone(listener: HookListener) -> None:
    assert listener.register(echo).startswith("http://127.0.0.1:")


async def test_paths_cannot_be_guessed(listener: HookListener, http: aiohttp.ClientSession) -> None:
    one, two = listener.register(echo), listener.register(echo)
    key = one.rpartition("/")[2]
    assert len(key) >= 32
    assert one != two
    async with http.post(f"{one[:-1]}_", json={}) as response:
        assert response.status == 404


DEEP = b"[" * 100_000 + b"]" * 100_000  # more than Python recurses


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", DEEP])
async def test_what_is_no_object_is_refused(
    listener: HookListener, http: aiohttp.ClientSession, body: bytes
) -> None:
    async with http.post(listener.register(echo), data=body) as response:
        assert response.status == 400


async def test_a_released_url_answers_no_more(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    url = listener.register(echo)
    listener.release(url)
    async with http.post(url, json={}) as response:
        assert response.status == 404


async def test_a_response_is_held_until_somebody_decides(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    decision: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
    asked = asyncio.Event()

    async def hold(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.set()
        return await decision

    posting = asyncio.ensure_future(http.post(listener.register(hold), json={}))
    await asked.wait()
    assert not posting.done()
    decision.set_result({"decision": "allow"})
    async with await posting as response:
        assert await response.json() == {"decision": "allow"}


async def test_a_program_that_goes_away_withdraws_its_question(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def hold(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return {}

    posting = asyncio.ensure_future(http.post(listener.register(hold), json={}))
    await asked.wait()
    posting.cancel()
    async with asyncio.timeout(20):
        await withdrawn.wait()


async def test_a_large_payload_is_taken(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    text = "x" * 5_000_000
    body = io.BytesIO(json.dumps({"text": text}).encode())
    async with http.post(listener.register(echo), data=body) as response:
        assert (await response.json())["got"]["text"] == text


async def test_leaving_cuts_off_what_is_still_held() -> None:
    asked = asyncio.Event()

    async def hold(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.set()
        await asyncio.Event().wait()
        return {}

    async with aiohttp.ClientSession() as http:
        async with HookListener.open(serving_hooks()) as hooks:
            posting = asyncio.ensure_future(http.post(hooks.register(hold), json={}))
            await asked.wait()
        with pytest.raises(aiohttp.ClientError):
            async with asyncio.timeout(20):
                await posting


MANY = b'{"a": [' + b"[], " * 2_000_000 + b"1]}"


async def test_what_would_take_a_lot_of_memory_is_refused(
    listener: HookListener, http: aiohttp.ClientSession
) -> None:
    seen: list[str] = []

    async def never(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append("a payload")
        return {}

    url = listener.register(never)
    answers = [(MANY, 400), (b'{"a": "' + b"x" * 9_000_000 + b'"}', 413)]
    for data, status in answers:
        async with http.post(url, data=io.BytesIO(data)) as response:
            assert response.status == status
    assert seen == []
    long = {"a": "[x], " * 100_000}  # a tool's output may hold many of them
    async with http.post(listener.register(echo), json=long) as response:
        assert await response.json() == {"got": long}
