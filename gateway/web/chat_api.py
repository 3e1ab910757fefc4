"""The HTTP API under /api that people and programs chat through: every route is one method."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import BodyPartReader, web

from contract.chat import Attachment
from contract.errors import Rejected
from gateway.web import stream
from gateway.web.auth import is_local
from gateway.web.body import ChoiceBody, RoomNameBody, answer, error, parse, read_object
from gateway.web.chat import AgentService, ChatService
from gateway.web.inbox import InboxService
from gateway.web.submission import SubmitBody, wait_seconds
from gateway.web.uploads import SAFE_IMAGES, TooLarge, Uploads

PICTURE_EVERY_S = 0.125  # 8 pictures a second: smoother is not readable
MESSAGES, MOST_MESSAGES = 50, 200
MOST_FILES = 10
CHUNK_BYTES = 1 << 16
ROOM_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")
FILE_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}
CHOICES = {
    "closed": (409, "this question is closed already"),
    "forbidden": (403, "you may not answer this question"),
    "unknown": (404, "there is no such question"),
}


@dataclass(frozen=True, slots=True)
class ChatApi:
    """The routes. wait_s: how long `wait: true` is; most_wait_s: the longest wait allowed.
    mask: covers secrets in a terminal's picture."""

    inbox: InboxService
    chat: ChatService
    agents: AgentService
    hub: stream.Hub
    files: Uploads
    wait_s: float = 300.0
    most_wait_s: float = 3_600.0
    mask: Callable[[stream.Picture], stream.Picture] = lambda picture: picture

    def routes(self) -> list[web.RouteDef]:
        """Every route under /api."""
        return [
            web.post("/api/submit", self.submit),
            web.post("/api/inject", self.inject),
            web.post("/api/passive", self.passive),
            web.get("/api/schema", self.schema),
            web.get("/api/rooms", self.rooms),
            web.post("/api/rooms", self.create_room),
            web.get("/api/rooms/{room_id}/messages", self.messages),
            web.get("/api/turns/{turn_id}", self.turn),
            web.get("/api/personas", self.personas),
            web.get("/api/people", self.people),
            web.get("/api/sessions", self.sessions),
            web.get("/api/sessions/{session_id}/terminal", self.terminal, allow_head=False),
            web.post("/api/questions/{question_id}", self.choose),
            web.get("/api/events", self.events, allow_head=False),
            web.post("/api/files", self.upload),
            web.get("/api/files/{file_id}", self.download),
        ]

    # ── Messages in ─────────────────────────────────────────────────────────────────────

    async def submit(self, request: web.Request) -> web.Response:
        raw = await self._submission(request)
        return answer(await self.inbox.submit(raw, wait_s=self._wait(raw)))

    async def inject(self, request: web.Request) -> web.Response:
        raw = await self._submission(request)
        return answer(await self.inbox.inject(raw, wait_s=self._wait(raw)))

    async def passive(self, request: web.Request) -> web.Response:
        return answer(await self.inbox.store_passive(await self._submission(request)))

    async def schema(self, request: web.Request) -> web.Response:
        return answer(SubmitBody.model_json_schema())

    def _wait(self, raw: Mapping[str, Any]) -> float | None:
        return wait_seconds(raw, default_s=self.wait_s, most_s=self.most_wait_s)

    async def _submission(self, request: web.Request) -> dict[str, Any]:
        """The body, with uploaded files looked up: it then says where their bytes are."""
        raw = await read_object(request)
        given = raw.get("attachments")
        if isinstance(given, list):
            local = is_local(request)
            raw["attachments"] = [await self._attachment(i, a, local) for i, a in enumerate(given)]
        return raw

    async def _attachment(self, index: int, given: object, local: bool) -> object:
        if not isinstance(given, dict):
            return given
        if given.get("id") is not None:
            found = await asyncio.to_thread(self.files.find, str(given["id"]))
            if found is None:
                raise Rejected(f"attachments.{index}.id", "is not a file that was uploaded here")
            return {
                "id": given["id"],
                "name": found.name,
                "mime": found.mime,
                "size_bytes": found.size_bytes,
                "path": found.path,
            }
        if given.get("path") is not None and not local:
            raise Rejected(
                f"attachments.{index}.path",
                "is for programs on this machine; upload the file with POST /api/files",
            )
        return given

    # ── Rooms, turns, people ────────────────────────────────────────────────────────────

    async def rooms(self, request: web.Request) -> web.Response:
        return answer({"rooms": await self.chat.rooms()})

    async def create_room(self, request: web.Request) -> web.Response:
        name = " ".join(parse(RoomNameBody, await read_object(request)).name.split())
        if not ROOM_NAME.fullmatch(name):
            raise Rejected("name", "must be 1 to 80 characters on one line")
        return answer(await self.chat.create_room(name), 201)

    async def messages(self, request: web.Request) -> web.Response:
        limit = request.query.get("limit", str(MESSAGES))
        if not re.fullmatch(r"[0-9]{1,4}", limit) or not 1 <= int(limit) <= MOST_MESSAGES:
            raise Rejected("limit", f"must be 1 to {MOST_MESSAGES}")
        timeline = await self.chat.messages(
            request.match_info["room_id"],
            before=request.query.get("before") or None,
            limit=int(limit),
        )
        if timeline is None:
            return error(404, "there is no such room")
        return answer(timeline, file_id=self.files.id_of)

    async def turn(self, request: web.Request) -> web.Response:
        record = await self.chat.turn(request.match_info["turn_id"])
        return error(404, "there is no such turn") if record is None else answer(record)

    async def personas(self, request: web.Request) -> web.Response:
        return answer({"personas": await self.agents.personas()})

    async def people(self, request: web.Request) -> web.Response:
        return answer({"people": await self.chat.people()})

    async def sessions(self, request: web.Request) -> web.Response:
        return answer({"sessions": await self.agents.sessions()})

    async def choose(self, request: web.Request) -> web.Response:
        body = parse(ChoiceBody, await read_object(request))
        question_id = request.match_info["question_id"]
        choice = await self.inbox.choose(question_id, body.option, body.speaker())
        refused = CHOICES.get(choice)
        return error(*refused) if refused else answer({"choice": choice})

    # ── Streams ─────────────────────────────────────────────────────────────────────────

    async def events(self, request: web.Request) -> web.StreamResponse:
        after = request.headers.get("Last-Event-ID") or request.query.get("after")
        with self.hub.listen(request.query.get("room") or None, after) as outbox:
            response = await stream.open_stream(request)
            await stream.send_all(response, outbox)
        return response

    async def terminal(self, request: web.Request) -> web.StreamResponse:
        session_id = request.match_info["session_id"]
        if self.agents.picture(session_id) is None:
            return error(404, "there is no such session")

        def now() -> stream.Picture | None:
            picture = None if self.hub.closed else self.agents.picture(session_id)
            return picture and self.mask(picture)

        response = await stream.open_stream(request)
        async for picture in stream.changes(now, every_s=PICTURE_EVERY_S):
            shown = stream.frame("beat", {}) if picture is None else _picture(picture)
            if not await stream.write(response, shown):
                return response
        await stream.write(response, stream.frame("closed", {}))
        return response

    # ── Files ───────────────────────────────────────────────────────────────────────────

    async def upload(self, request: web.Request) -> web.Response:
        if request.content_type != "multipart/form-data":
            raise web.HTTPUnsupportedMediaType(text="send the file as multipart/form-data")
        kept: list[Attachment] = []
        try:
            async for part in _parts(request):
                if len(kept) == MOST_FILES:
                    raise Rejected("file", f"at most {MOST_FILES} at once")
                kept.append(await self.files.save(part.filename or "file", _chunks(part)))
        except BaseException as fault:  # one bad file: none of this request is kept
            await asyncio.to_thread(self.files.drop, kept)
            if isinstance(fault, TooLarge):
                return error(413, f"a file may have {self.files.most_bytes:,} bytes", "file")
            raise
        if not kept:
            raise Rejected("file", "is required")
        return answer({"files": kept}, 201, self.files.id_of)

    async def download(self, request: web.Request) -> web.StreamResponse:
        found = await asyncio.to_thread(self.files.find, request.match_info["file_id"])
        if found is None or found.path is None:
            return error(404, "there is no such file")
        shown = "inline" if found.mime in SAFE_IMAGES else "attachment"
        name = f"{shown}; filename*=UTF-8''{quote(found.name, safe='')}"
        headers = FILE_HEADERS | {"Content-Type": found.mime, "Content-Disposition": name}
        return web.FileResponse(found.path, headers=headers)


def _picture(picture: stream.Picture) -> bytes:
    return stream.frame("picture", {"rows": picture})


async def _parts(request: web.Request) -> AsyncIterator[BodyPartReader]:
    """The parts that are files. Raises Rejected when the body is not what it says."""
    try:
        reader = await request.multipart()
        while (part := await reader.next()) is not None:
            if isinstance(part, BodyPartReader) and part.filename:
                yield part
    except (ValueError, AssertionError) as fault:  # aiohttp asserts on a missing boundary
        raise Rejected("body", f"is not multipart/form-data: {fault}") from None


async def _chunks(part: BodyPartReader) -> AsyncIterator[bytes]:
    while chunk := await part.read_chunk(CHUNK_BYTES):
        yield chunk
