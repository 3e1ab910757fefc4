"""Events as they happen: in order, once, resumed after a gap, never without bound."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from contract.chat import Room, Speaker
from gateway.core.events import AppEvent, MessagePosted, PersonasChanged
from gateway.core.views import MessageView, SessionView
from gateway.web import stream
from gateway.web.stream import Hub, Outbox, frame
from tests.doubles.house import FakeHouse

Client = aiohttp.ClientSession
ANA = Speaker("web:ana", "Ana")
GENERAL = Room("web:general", "general")
OTHER = Room("web:other", "other")


@dataclass
class Got:
    type: str
    data: Any
    id: str | None


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[Got]:
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            yield Got(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


async def take(stream_of: AsyncIterator[Got], count: int) -> list[Got]:
    async with asyncio.timeout(10):
        return [await anext(stream_of) for _ in range(count)]


async def test_what_happens_is_told_in_order(client: Client, house: FakeHouse) -> None:
    async with client.get("/api/events") as response:
        assert response.content_type == "text/event-stream"
        told = events(response)
        [hello] = await take(told, 1)
        assert (hello.type, hello.data) == ("hello", {"resumed": False})
        message = house.say(GENERAL, ANA, "@demo hi")
        turn = house.queue(message, "demo", {"content": "@demo hi"}).turn.id
        house.move(turn, "running")
        house.working(turn, "Reading")
        house.draft(turn, "He")
        question = house.ask(turn, "Run?", "ls", "Yes")
        await house.choose(question, 0, ANA)
        house.reword(house.finish(turn, "Hello"), text="Hello!")
        house.unsay(message)
        house.publish(PersonasChanged())
        got = await take(told, 14)
    assert [event.type for event in got] == [
        "room", "message", "turn", "turn", "typing", "draft", "question", "question_closed",
        "turn", "message", "turn", "edited", "deleted", "personas",
    ]  # fmt: skip
    by_type = {event.type: event.data for event in got}
    assert by_type["draft"] == {
        "type": "draft", "room_id": "web:general", "turn_id": turn, "text": "He"
    }  # fmt: skip
    assert by_type["question_closed"]["by"]["name"] == "Ana"
    assert by_type["question_closed"]["option"] == 0
    assert by_type["edited"]["message"]["text"] == "Hello!"
    assert by_type["deleted"]["message_id"] == message.id
    assert by_type["typing"]["status"] == "Reading"
    assert [event.id is None for event in got if event.type in ("draft", "typing")] == [True, True]
    ids = [event.id for event in got if event.id]
    assert len(set(ids)) == len(ids) == 12


async def test_one_room_can_be_followed(client: Client, house: FakeHouse) -> None:
    async with client.get("/api/events", params={"room": "web:other"}) as response:
        told = events(response)
        await take(told, 1)
        house.say(GENERAL, ANA, "not this")
        house.publish(PersonasChanged())
        house.say(OTHER, ANA, "this")
        got = await take(told, 3)
    assert [event.type for event in got] == ["personas", "room", "message"]


async def test_a_client_that_comes_back_gets_what_it_missed(
    client: Client, house: FakeHouse
) -> None:
    async with client.get("/api/events") as response:
        told = events(response)
        await take(told, 1)
        house.say(GENERAL, ANA, "seen")
        last = (await take(told, 2))[-1].id
    house.say(GENERAL, ANA, "missed")
    assert last is not None
    for how in ({"headers": {"Last-Event-ID": last}}, {"params": {"after": last}}):
        async with client.get("/api/events", **how) as response:  # type: ignore[arg-type]
            hello, message = await take(events(response), 2)
            assert hello.data == {"resumed": True}
            assert message.data["message"]["text"] == "missed"


async def test_a_client_that_comes_back_gets_the_newest_draft_of_what_still_runs(
    client: Client, house: FakeHouse
) -> None:
    async with client.get("/api/events") as response:
        told = events(response)
        await take(told, 1)
        turns = [house.queue(house.say(GENERAL, ANA, "?"), "demo", {}).turn.id for _ in "ab"]
        for turn in turns:
            house.move(turn, "running")
        last = (await take(told, 7))[-1].id
    house.draft(turns[0], "He")
    house.draft(turns[0], "Hello")
    house.draft(turns[1], "Bye")
    house.finish(turns[1], "Bye.")
    assert last is not None
    async with client.get("/api/events", params={"after": last}) as response:
        got = await take(events(response), 5)
    assert [event.type for event in got] == ["hello", "turn", "message", "turn", "draft"]
    assert got[-1].data["text"] == "Hello"


async def test_a_gap_that_cannot_be_filled_is_told(client: Client) -> None:
    for unknown in ("x", "0-1", "deadbeef-99999999999999999999", "-", "²"):
        async with client.get("/api/events", params={"after": unknown}) as response:
            [hello] = await take(events(response), 1)
            assert hello.data == {"resumed": False}


async def test_a_terminal_is_shown_while_its_session_lives(
    client: Client, house: FakeHouse
) -> None:
    house.session_cards = [SessionView("s1", "demo", "web:general", "working", 42)]
    house.pictures["s1"] = [[("> ", "b"), ("hi", "")]]
    async with client.get("/api/sessions/s1/terminal") as response:
        told = events(response)
        [first] = await take(told, 1)
        assert (first.type, first.data) == ("picture", {"rows": [[["> ", "b"], ["hi", ""]]]})
        house.pictures["s1"] = [[("> ", "b"), ("hi there", "")]]
        [second] = await take(told, 1)
        assert second.data["rows"][0][1][0] == "hi there"
        del house.pictures["s1"]
        [last] = await take(told, 1)
        assert last.type == "closed"


async def test_an_unchanged_picture_is_not_sent_again() -> None:
    pictures = iter([[[("a", "")]], [[("a", "")]], [[("b", "")]], None])
    shown = [p async for p in stream.changes(lambda: next(pictures), every_s=0)]
    assert shown == [[[("a", "")]], [[("b", "")]]]


async def test_a_still_terminal_has_a_heartbeat() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    pictures = iter([[[("a", "")]]] * 5 + [None])
    half = stream.HEARTBEAT_S / 2
    shown = [p async for p in stream.changes(lambda: next(pictures), every_s=half, sleep=sleep)]
    assert shown == [[[("a", "")]], None, None]
    assert slept == [half] * 5


async def test_a_slow_client_loses_what_waits_and_is_told_to_reload() -> None:
    outbox = Outbox()
    for n in range(stream.WAITING):
        outbox.put(frame("message", n))
    outbox.put(frame("message", "one too many"))
    waiting = await outbox.take(1)
    assert waiting == frame("reload", {"reason": "slow"})


async def test_a_few_large_events_are_bounded_too() -> None:
    outbox = Outbox()
    for _ in range(5):
        outbox.put(b"x" * (stream.WAITING_BYTES // 4 + 1))
    waiting = await outbox.take(1)
    assert waiting is not None
    assert waiting.startswith(frame("reload", {"reason": "slow"}))
    assert len(waiting) < stream.WAITING_BYTES


async def test_a_newer_draft_takes_the_place_of_one_that_waits() -> None:
    outbox = Outbox()
    for n in range(stream.WAITING * 2):
        outbox.put(frame("draft", n), key="turn")
    outbox.put(frame("turn", "answered"))
    last = stream.WAITING * 2 - 1
    assert await outbox.take(1) == frame("draft", last) + frame("turn", "answered")


def _view(happening: AppEvent) -> Mapping[str, Any]:
    assert isinstance(happening, MessagePosted)
    return {"text": happening.message.text}


async def test_what_is_kept_for_later_is_bounded(house: FakeHouse) -> None:
    hub = Hub(house.services.events, _view)
    message = house.say(GENERAL, ANA, "x")
    with hub.listen(None, None) as outbox:
        hello = await outbox.take(1)
    assert hello is not None
    start = hello.split(b"\n")[0].removeprefix(b"id: ").decode()
    for _ in range(stream.KEPT):
        hub.publish(MessagePosted(message))
    with hub.listen(None, start) as outbox:
        waiting = await outbox.take(1)
        assert waiting is not None
        assert waiting.count(b"event: message") == stream.KEPT
    hub.publish(MessagePosted(message))
    with hub.listen(None, start) as outbox:
        assert await outbox.take(1) == frame("hello", {"resumed": False}, f"{start[:-1]}1001")
    large = MessageView("m", GENERAL.id, ANA, "x" * (stream.KEPT_BYTES // 2), message.at)
    for _ in range(4):
        hub.publish(MessagePosted(large))
    assert hub._kept_bytes <= stream.KEPT_BYTES


async def test_an_event_that_cannot_be_shown_ends_no_stream(
    house: FakeHouse, client: Client
) -> None:
    async with client.get("/api/events") as response:
        told = events(response)
        await take(told, 1)
        unknown: Any = object()
        house.publish(MessagePosted(unknown))
        [reload] = await take(told, 1)
        assert (reload.type, reload.data) == ("reload", {"reason": "restart"})
        house.say(GENERAL, ANA, "still here")
        assert [event.type for event in await take(told, 2)] == ["room", "message"]


async def test_nothing_is_published_to_a_page_that_nobody_has_open(
    house: FakeHouse, client: Client
) -> None:
    assert not house.listeners
    async with client.get("/api/events") as response:
        await take(events(response), 1)
        assert house.listeners
