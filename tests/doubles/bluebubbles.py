"""A BlueBubbles server for tests: its REST API, its webhooks, and the faults of a bad day.

Made from the source of the server's version 1.9.9. No independent client checks it in these tests:
there is no real server off a Mac, and no published client that is more than a part of a plug-in.
One of them (in Python, a preview) was run against it once by hand: it took the server's facts, a
chat, a sent text with its answer, an edit and a removal, and missed fields that were then added;
its reactions carry a field that the server's own source doesn't take. `bluebubbles_rest` has the
calls.

Seen in the source, and kept here: a webhook is tried once; an own post comes back twice, once with
its temporary guid; an update comes without its chats; the temporary guid is in no history; a text
loses its U+FFFC and the white space around it; only the private API edits, removes and types.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp
from aiohttp import web

Json = dict[str, Any]

OLIVIA, ASH, STRANGER = "+15550001111", "ash@example.org", "+15550009999"
OWNER = "+15550008377"
DM, GROUP = f"iMessage;-;{OLIVIA}", "iMessage;+;chat8377"
SMS, NOTES = f"SMS;-;{STRANGER}", f"iMessage;-;{OWNER}"
PASSWORD = "p&ss word?"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one call: "429" before anything; "500" and "cut" (the connection drops)
    before or after the call was carried out; "hang": no answer until `release` is set; "garbled":
    200 and no JSON; "error": iMessage says no, with `code`.
    """

    kind: Literal["429", "500", "cut", "hang", "garbled", "error"]
    when: Literal["before", "after"] = "before"
    code: int = 22
    release: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Call:
    verb: str
    path: str
    body: Json


@dataclass
class BlueBubblesDouble:
    """One Mac with one iMessage account. The verbs below are what people do.

    deaf: webhooks are lost. times: how often each webhook is delivered. lacks: patterns of routes
    that it doesn't serve. is_blunt: its history knows no dates, order and offset.
    tells_guids: in the answer to a send.
    """

    private_api: bool = False
    helper_connected: bool = False
    deaf: bool = False
    times: int = 1
    lacks: frozenset[str] = frozenset()
    is_blunt: bool = False
    tells_guids: bool = True
    calls: list[Call] = field(default_factory=list)
    messages: dict[str, Json] = field(default_factory=dict)
    chats: dict[str, Json] = field(default_factory=dict)
    contacts: list[Json] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    file_types: dict[str, str] = field(default_factory=dict)  # of what it turns into another kind
    webhooks: list[Json] = field(default_factory=list)
    delivered: list[tuple[str, int]] = field(default_factory=list)
    typing: list[tuple[str, str]] = field(default_factory=list)
    in_flight: set[str] = field(default_factory=set)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    url: str = ""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._last_ms = 0
        self._posting: set[asyncio.Task[None]] = set()
        self._client: aiohttp.ClientSession | None = None
        for guid, style, name, people in (
            (DM, 45, "", [OLIVIA]),
            (SMS, 45, "", [STRANGER]),
            (NOTES, 45, "", [OWNER]),
            (GROUP, 43, "Auth team", [OLIVIA, ASH]),
        ):
            self.chats[guid] = chat(guid, style, name, people)
        self.contacts = [
            {"displayName": "Olivia", "phoneNumbers": [{"address": "(555) 000-1111"}]},
            {"firstName": "Ash", "lastName": "K.", "emails": [{"address": ASH}]},
        ]

    @classmethod
    @asynccontextmanager
    async def open(cls, **changes: Any) -> AsyncIterator[BlueBubblesDouble]:
        """A double that listens on a free port of the loopback."""
        from tests.doubles.bluebubbles_rest import Rest

        double = cls(**changes)
        app = web.Application(client_max_size=100_000_000)
        app.router.add_route("*", "/api/v1/{path:.*}", Rest(double).handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        double.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        double._client = aiohttp.ClientSession()
        try:
            yield double
        finally:
            await double.settled()
            await double._client.close()
            await runner.cleanup()

    # ── What people do ──────────────────────────────────────────────────────────────────

    async def say(
        self,
        text: str,
        sender: str = OLIVIA,
        chat_guid: str = DM,
        *,
        from_me: bool = False,
        files: tuple[tuple[str, str, bytes], ...] = (),
        **more: Any,
    ) -> str:
        """Somebody writes. files: (name, MIME type, bytes) each."""
        told: Json = {"attachments": [self.new_file(*file) for file in files]}
        if not from_me:
            told["handle"] = handle(sender, chat_guid.partition(";")[0])
        row = self.row(text, chat_guid, from_me=from_me, **(told | more))
        self.messages[row["guid"]] = row
        await self.tell("new-message", row)
        return str(row["guid"])

    async def edit(self, guid: str, text: str) -> None:
        """Somebody edits; an empty text takes the message back."""
        row = self.messages[guid]
        row |= {"text": text or None, "dateEdited": self.now_ms()}
        await self.tell("updated-message", row, chats=[])

    async def read_receipt(self, guid: str) -> None:
        row = self.messages[guid]
        row["dateRead"] = self.now_ms()
        await self.tell("updated-message", row, chats=[])

    # ── What the server does ────────────────────────────────────────────────────────────

    def row(self, text: str, chat_guid: str, *, from_me: bool, **more: Any) -> Json:
        """A message as the server tells it."""
        number = next(self._numbers)
        return {
            "originalROWID": number,
            "guid": f"8377AAAA-{number:04}",
            "text": text.replace("\ufffc", "").strip(),
            "attributedBody": None,
            "handle": None,
            "handleId": 0,
            "otherHandle": 0,
            "attachments": [],
            "subject": None,
            "error": 0,
            "dateCreated": self.now_ms(),
            "dateRead": None,
            "dateDelivered": None,
            "isDelivered": False,
            "isFromMe": from_me,
            "hasDdResults": False,
            "isArchived": False,
            "itemType": 0,
            "groupTitle": None,
            "groupActionType": 0,
            "balloonBundleId": None,
            "associatedMessageGuid": None,
            "associatedMessageType": None,
            "expressiveSendStyleId": None,
            "threadOriginatorGuid": None,
            "hasPayloadData": False,
            "chats": [self._chat_of_message(chat_guid)],
            "dateEdited": None,
            "dateRetracted": None,
            "partCount": 1,
            **more,
        }

    def _chat_of_message(self, guid: str) -> Json:
        """A message tells who is in a group, and not who is in a chat of two."""
        told = dict(self.chats[guid])
        if told["style"] == 45:
            del told["participants"]
        return told

    def new_file(self, name: str, mime: str, data: bytes) -> Json:
        guid = f"at_0_{next(self._numbers):04}"
        self.files[guid] = data
        return {
            "originalROWID": 1,
            "guid": guid,
            "uti": "public.data",
            "mimeType": mime,
            "transferName": name,
            "totalBytes": len(data),
        }

    async def commit(self, row: Json, temp_guid: str) -> None:
        """An own post is there: Messages has it, and the webhooks are told twice."""
        self.messages[row["guid"]] = row
        await self.tell("new-message", row, tempGuid=temp_guid)
        await self.tell("new-message", row)

    async def tell(self, kind: str, row: Json, **changes: Any) -> None:
        """Call the webhooks, each once, without waiting for them."""
        body = {"type": kind, "data": {**row, **changes}}
        for hook in [] if self.deaf else self.webhooks:
            if "*" in hook["events"] or kind in hook["events"]:
                for _ in range(self.times):
                    task = asyncio.create_task(self._post(hook["url"], body), name="webhook")
                    self._posting.add(task)
                    task.add_done_callback(self._posting.discard)

    async def _post(self, url: str, body: Json) -> None:
        assert self._client is not None
        try:
            async with self._client.post(url, json=body) as answer:
                await answer.read()
                self.delivered.append((body["type"], answer.status))
        except aiohttp.ClientError:
            self.delivered.append((body["type"], 0))

    async def settled(self) -> None:
        """Until no webhook is under way."""
        while self._posting:
            await asyncio.wait(set(self._posting))

    # ── What a test asks ────────────────────────────────────────────────────────────────

    def fail(self, path: str, *faults: Fault) -> None:
        """The next calls of a path go wrong, one after the other."""
        self.faults[path] += faults

    def called(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path == path]

    def own(self, chat_guid: str | None = None) -> list[Json]:
        """What the account posted, oldest first."""
        return [
            row
            for row in self.messages.values()
            if row["isFromMe"] and chat_guid in (None, row["chats"][0]["guid"])
        ]

    def now_ms(self) -> int:
        """The time, and never the same twice."""
        self._last_ms = max(self._last_ms + 1, int(time.time() * 1000))
        return self._last_ms


def chat(guid: str, style: int, name: str, people: list[str]) -> Json:
    return {
        "originalROWID": 1,
        "guid": guid,
        "style": style,
        "chatIdentifier": guid.rpartition(";")[2],
        "isArchived": False,
        "displayName": name,
        "participants": [handle(person) for person in people],
    }


def handle(address: str, service: str = "iMessage") -> Json:
    return {"originalROWID": 1, "address": address, "service": service}
