"""Messages into the HTTP API: what submit takes, what it gives back, what it refuses."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import aiohttp
import jsonschema
import pytest

from tests.doubles.house import FakeHouse
from tests.gateway.conftest import get, post

Client = aiohttp.ClientSession
META = {
    "source": "web",
    "sender_id": "web:ana",
    "sender_display_name": "Ana",
    "sender_type": "human",
}
BODY: dict[str, Any] = {"content": "@demo hi", "metadata": META, "room": "web:general"}


async def test_submit_hands_the_body_over_and_gives_a_receipt(
    client: Client, house: FakeHouse
) -> None:
    receipt = await post(client, "/api/submit", {**BODY, "message_id": "m-1"})
    assert receipt["message_id"] == "m-1"
    assert receipt["room_id"] == "web:general"
    assert receipt["duplicate"] is False
    assert len(receipt["turn_ids"]) == 1
    assert receipt["replies"] is None
    through = {"id": "moot:shell", "name": "the command line"}
    metadata = {**BODY["metadata"], "through": through}
    assert house.calls[0].given == {**BODY, "metadata": metadata, "message_id": "m-1"}


async def test_the_same_message_twice_is_one(client: Client, house: FakeHouse) -> None:
    await post(client, "/api/submit", {**BODY, "message_id": "m-1"})
    again = await post(client, "/api/submit", {**BODY, "message_id": "m-1"})
    assert again["duplicate"] is True
    assert again["turn_ids"] == []
    assert len(house.said["web:general"]) == 1


async def test_inject_and_passive_have_doors_of_their_own(client: Client, house: FakeHouse) -> None:
    await post(client, "/api/inject", {**BODY, "session_id": "s-1"})
    passive = await post(client, "/api/passive", BODY)
    assert [call.name for call in house.calls] == ["inject", "store_passive"]
    assert passive["turn_ids"] == []


async def test_a_caller_who_waits_gets_the_replies(client: Client, house: FakeHouse) -> None:
    def answer_soon(record: Any) -> None:
        asyncio.get_running_loop().call_soon(house.finish, record.turn.id, "Hello Ana")

    house.script = answer_soon
    receipt = await post(client, "/api/submit", {**BODY, "wait": True})
    [reply] = receipt["replies"]
    assert reply == {
        "turn_id": receipt["turn_ids"][0],
        "persona": "demo",
        "text": "Hello Ana",
        "state": "posted",
        "error": None,
    }


async def test_a_wait_that_is_over_tells_how_far_it_got(client: Client) -> None:
    receipt = await post(client, "/api/submit", {**BODY, "wait": 0.01})
    assert receipt["replies"][0]["state"] == "queued"


@pytest.mark.parametrize("path", ["/api/submit", "/api/inject", "/api/passive"])
async def test_a_message_that_breaks_the_contract_is_refused_by_field(
    client: Client, house: FakeHouse, path: str
) -> None:
    wrong = {**BODY, "metadata": {**META, "sender_id": "Ana"}}
    refusal = await post(client, path, wrong, 400)
    assert refusal["error"]["field"] == "sender_id"
    assert refusal["error"]["message"].startswith("sender_id: ")
    assert house.said == {}


async def test_a_wrong_wait_is_refused(client: Client, house: FakeHouse) -> None:
    refusal = await post(client, "/api/submit", {**BODY, "wait": "long"}, 400)
    assert refusal["error"]["field"] == "wait"
    assert house.said == {}


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"content": NaN}', "not JSON"),
        (b"[]", "object"),
        (b'"text"', "object"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 50_000, "nested"),
        (b'{"content": ' + b"1" * 5_000 + b"}", "not JSON"),
        (b'{"content": "\\ud83d"}', "half a character"),
        (b'{"metadata": {"sender_display_name": "\\udc00"}}', "half a character"),
    ],
)
async def test_a_body_that_is_no_json_object_is_refused(
    client: Client, body: bytes, hint: str
) -> None:
    headers = {"Content-Type": "application/json"}
    async with client.post("/api/submit", data=body, headers=headers) as response:
        assert response.status == 400
        assert hint in (await response.json())["error"]["message"]


async def test_whole_characters_by_escapes_are_taken(client: Client, house: FakeHouse) -> None:
    body = b'{"content":"\\ud83d\\ude00","room":"web:general","metadata":'
    body += b'{"source":"web","sender_id":"web:ana","sender_display_name":"A","sender_type":"bot"}}'
    headers = {"Content-Type": "application/json; charset=utf-8"}
    async with client.post("/api/submit", data=body, headers=headers) as response:
        assert response.status == 200
    assert house.said["web:general"][0].text == "\U0001f600"


async def test_other_content_types_are_refused(client: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "text/json", "x"):
        async with client.post(
            "/api/submit", data=b"{}", headers={"Content-Type": kind}
        ) as response:
            assert response.status == 415
            assert "application/json" in (await response.json())["error"]["message"]


async def test_a_body_that_is_too_large_is_refused(client: Client) -> None:
    refusal = await post(client, "/api/submit", {**BODY, "content": "x" * 100_001}, 413)
    assert refusal["error"]["message"]


async def test_a_small_body_that_unpacks_to_a_large_one_is_refused(client: Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    packed = gzip.compress(b'{"content": "' + b"x" * 1_000_000 + b'"}')
    for body, status in ((packed, 413), (b"no gzip", 400)):
        async with client.post("/api/submit", data=body, headers=headers) as response:
            assert response.status == status
            assert "error" in await response.json()


async def test_a_path_on_this_machine_is_for_programs_on_it(
    client: Client, house: FakeHouse
) -> None:
    given = {"name": "a.txt", "mime": "text/plain", "size_bytes": 1, "path": "/tmp/a.txt"}
    await post(client, "/api/submit", {**BODY, "attachments": [given]})
    assert house.said["web:general"][0].attachments[0].path == "/tmp/a.txt"
    shown = await get(client, "/api/rooms/web:general/messages")
    [file] = shown["messages"][0]["attachments"]
    assert "path" not in file
    assert file["url"] is None


async def test_the_schema_describes_the_body(client: Client) -> None:
    jsonschema.validate(BODY, await get(client, "/api/schema"))
