"""The HTTP API under /api that people and programs chat through: every route is one method."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from contract.chat import Attachment, Speaker
from contract.errors import Rejected
from contract.language import later, phrase
from contract.values import dataclass
from gateway.core.views import RoomView, TimelineView
from gateway.questions.replies import IN_PERSON
from gateway.web import stream
from gateway.web.auth import Credentials
from gateway.web.body import ChoiceBody, RoomNameBody, answer, parse, read_object
from gateway.web.chat import AgentService, ChatService
from gateway.web.inbox import InboxService
from gateway.web.page_address import is_local
from gateway.web.plain_json import error
from gateway.web.signin.caller import Caller, RequestRefused, acting, caller_of
from gateway.web.signin.rooms import RoomGuard, Sight
from gateway.web.signin.speech import in_others_name, in_own_name, room_id_of
from gateway.web.submission import SubmitBody, wait_seconds
from gateway.web.uploads import SAFE_IMAGES, TooLarge, Uploads

PICTURE_EVERY_S = 0.125  # 8 pictures a second: smoother is not readable
MESSAGES, MOST_MESSAGES = 50, 200
MOST_WAIT_S = 3_600.0
MOST_FILES = 10
CHUNK_BYTES = 1 << 16
ROOM_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")
FILE_HEADERS = {
    "Cache-Control": "private, no-cache",  # asked again: a browser may be somebody else's next
    "Content-Security-Policy": "sandbox; default-src 'none'",
}
CHOICES = {
    "changed": (409, "this is not the question that you saw: look at it again"),
    "closed": (409, "this question is closed already"),
    "forbidden": (403, "you may not answer this question"),
    "token": (403, f"two people must agree to this, and a token is nobody: {IN_PERSON}"),
    "unknown": (404, "there is no such question"),
}


@dataclass(frozen=True, slots=True)
class ChatApi:
    """The routes. wait_s: how long `wait: true` is.
    mask: covers secrets in a terminal's picture."""

    inbox: InboxService
    chat: ChatService
    agents: AgentService
    hub: stream.Hub
    files: Uploads
    credentials: Credentials
    wait_s: float = 300.0
    mask: Callable[[stream.Picture], stream.Picture] = lambda picture: picture

    @property
    def _guard(self) -> RoomGuard:
        return self.credentials.rooms

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
        trusted = not caller_of(request).is_person
        return answer(await self.inbox.submit(raw, wait_s=self._wait(raw), trusted=trusted))

    async def inject(self, request: web.Request) -> web.Response:
        raw = await self._submission(request)
        return answer(await self.inbox.inject(raw, wait_s=self._wait(raw)))

    async def passive(self, request: web.Request) -> web.Response:
        raw = await self._submission(request)
        trusted = not caller_of(request).is_person
        return answer(await self.inbox.store_passive(raw, trusted=trusted))

    async def schema(self, request: web.Request) -> web.Response:
        return answer(SubmitBody.model_json_schema())

    def _wait(self, raw: Mapping[str, Any]) -> float | None:
        return wait_seconds(raw, default_s=self.wait_s, most_s=MOST_WAIT_S)

    async def _submission(self, request: web.Request) -> dict[str, Any]:
        """The body, with uploaded files looked up: it then says where their bytes are. Somebody who
        signed in says it in their own name, and where they may read."""
        raw, caller = await read_object(request), caller_of(request)
        if caller.is_person:
            raw = in_own_name(caller, raw, owner=self._guard.is_owner(caller))
            if (room_id := room_id_of(raw)) is not None:
                await self._guard.check(caller, room_id, there=True)
        else:
            await self._guard.check_program(room_id_of(raw) or "")
            raw = in_others_name(caller, raw)
        given = raw.get("attachments")
        if isinstance(given, list):
            raw["attachments"] = [
                await self._attachment(request, number, one) for number, one in enumerate(given)
            ]
        return raw

    async def _attachment(self, request: web.Request, index: int, given: object) -> object:
        if not isinstance(given, dict):
            return given
        if given.get("id") is not None:
            found = await self._file(caller_of(request), str(given["id"]))
            if found is None:
                raise Rejected(f"attachments.{index}.id", "is not a file that was uploaded here")
            return {
                "id": given["id"],
                "name": found.name,
                "mime": found.mime,
                "size_bytes": found.size_bytes,
                "path": found.path,
            }
        if given.get("path") is not None and not is_local(request):
            raise Rejected(
                f"attachments.{index}.path",
                "is for programs on this machine; upload the file with POST /api/files",
            )
        return given

    # ── Rooms, turns, people ────────────────────────────────────────────────────────────

    async def rooms(self, request: web.Request) -> web.Response:
        return answer({"rooms": await self.rooms_of(caller_of(request))})

    async def rooms_of(self, caller: Caller) -> Sequence[RoomView]:
        """The rooms that somebody may read."""
        rooms = await self.chat.rooms()
        return [one for one in rooms if self._guard.may_read(caller, one.room)]

    async def create_room(self, request: web.Request) -> web.Response:
        name = " ".join(parse(RoomNameBody, await read_object(request)).name.split())
        if not ROOM_NAME.fullmatch(name):
            raise Rejected("name", "must be 1 to 80 characters on one line")
        return answer(await self.chat.create_room(name), 201)

    async def messages(self, request: web.Request) -> web.Response:
        limit = request.query.get("limit", str(MESSAGES))
        if not re.fullmatch(r"[0-9]{1,4}", limit) or not 1 <= int(limit) <= MOST_MESSAGES:
            raise Rejected("limit", later("must be {least} to {most}", least=1, most=MOST_MESSAGES))
        room_id = request.match_info["room_id"]
        await self._guard.check(caller_of(request), room_id)
        timeline = await self._stretch(room_id, request.query, int(limit))
        if timeline is None:
            return error(404, "there is no such room")
        return answer(timeline, file_id=self.files.id_of)

    async def _stretch(
        self, room_id: str, query: Mapping[str, str], limit: int
    ) -> TimelineView | None:
        if middle := query.get("around"):
            found = await self.chat.messages_around(room_id, middle, limit)
            if not found.messages:
                raise RequestRefused(404, "there is no such message")
            return found
        if last := query.get("after"):
            return await self.chat.messages_after(room_id, last, limit)
        return await self.chat.messages(room_id, before=query.get("before") or None, limit=limit)

    async def turn(self, request: web.Request) -> web.Response:
        record = await self.chat.turn(request.match_info["turn_id"])
        if record is None:
            return error(404, "there is no such turn")
        caller = caller_of(request)
        await self._guard.check(caller, record.turn.room_id)
        asked_by = record.raw.get("metadata", {}).get("sender_id")
        if not self._guard.is_owner(caller) and asked_by != caller.person.id:
            return error(403, "the record of a turn is for who asked, and for owners")
        return answer(record)

    async def personas(self, request: web.Request) -> web.Response:
        return answer({"personas": await self.agents.personas()})

    async def people(self, request: web.Request) -> web.Response:
        return answer({"people": await self.people_of(caller_of(request))})

    async def people_of(self, caller: Caller) -> Sequence[Speaker]:
        """Who has spoken, as far as somebody may know: those of other platforms are the owners'."""
        people = await self.chat.people()
        if self._guard.is_owner(caller):
            return people
        return [one for one in people if one.id.startswith("web:")]

    async def sessions(self, request: web.Request) -> web.Response:
        sight = await self._sight(request)
        living = await self.agents.sessions()
        return answer({"sessions": [one for one in living if sight.sees_room(one.room_id)]})

    async def choose(self, request: web.Request) -> web.Response:
        body = parse(ChoiceBody, await read_object(request))
        question_id, caller = request.match_info["question_id"], caller_of(request)
        by = acting(request, body.by)
        room_id = self.inbox.room_of_question(question_id)
        if caller.is_person and room_id is not None:
            await self._guard.check(caller, room_id)
        choice = await self.inbox.choose(question_id, body.option, by, digest=body.digest)
        refused = CHOICES.get(choice)
        return error(*refused) if refused else answer({"choice": choice})

    # ── Streams ─────────────────────────────────────────────────────────────────────────

    async def events(self, request: web.Request) -> web.StreamResponse:
        after = request.headers.get("Last-Event-ID") or request.query.get("after")
        room_id, caller = request.query.get("room") or None, caller_of(request)
        if room_id is not None:
            await self._guard.check(caller, room_id)
        sight = await self._sight(request)
        with self.hub.listen(room_id, after, sight.sees) as outbox:
            response = await stream.open_stream(request)
            await stream.send_all(response, outbox, lambda: self.credentials.is_live(caller))
        return response

    async def _sight(self, request: web.Request) -> Sight:
        rooms = [one.room for one in await self.chat.rooms()]
        return self._guard.sight(caller_of(request), rooms)

    async def terminal(self, request: web.Request) -> web.StreamResponse:
        session_id, caller = request.match_info["session_id"], caller_of(request)
        sight = await self._sight(request)
        living = [one for one in await self.agents.sessions() if one.id == session_id]
        hidden = not all(sight.sees_room(one.room_id) for one in living)
        if hidden or self.agents.picture(session_id) is None:
            return error(404, "there is no such session")

        def now() -> stream.Picture | None:
            over = self.hub.closed or not (
                self.credentials.is_live(caller) and self._guard.is_owner(caller)
            )
            picture = None if over else self.agents.picture(session_id)
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
            raise web.HTTPUnsupportedMediaType(text=phrase("send the file as multipart/form-data"))
        kept: list[Attachment] = []
        try:
            async for part in _parts(request):
                if len(kept) == MOST_FILES:
                    raise Rejected("file", later("at most {most} at once", most=MOST_FILES))
                name, by = part.filename or "file", caller_of(request).person.id
                kept.append(await self.files.save(name, _chunks(part), by))
        except BaseException as fault:  # one bad file: none of this request is kept
            await asyncio.to_thread(self.files.drop, kept)
            if isinstance(fault, TooLarge):
                return error(
                    413,
                    later("a file may have {most} bytes", most=f"{self.files.most_bytes:,}"),
                    "file",
                )
            raise
        if not kept:
            raise Rejected("file", "is required")
        return answer({"files": kept}, 201, self.files.id_of)

    async def download(self, request: web.Request) -> web.StreamResponse:
        found = await self._file(caller_of(request), request.match_info["file_id"])
        if found is None or found.path is None:
            return error(404, "there is no such file")
        shown = "inline" if found.mime in SAFE_IMAGES else "attachment"
        name = f"{shown}; filename*=UTF-8''{quote(found.name, safe='')}"
        headers = FILE_HEADERS | {"Content-Type": found.mime, "Content-Disposition": name}
        return web.FileResponse(found.path, headers=headers)

    async def _file(self, caller: Caller, file_id: str) -> Attachment | None:
        """A file that this caller uploaded, or that was posted where they may read; None: there is
        none for them."""
        found = await self.files.found(file_id)
        if found is None or self.files.is_by(file_id, caller.person.id):
            return found
        for room_id in await self.chat.rooms_of_file(file_id):
            room = await self.chat.room(room_id)
            if room is not None and self._guard.may_read(caller, room):
                return found
        return None


def _picture(picture: stream.Picture) -> bytes:
    return stream.frame("picture", {"rows": picture})


async def _parts(request: web.Request) -> AsyncIterator[BodyPartReader]:
    """The parts, each a file. Raises Rejected when the body is not what it says.

    A part that is no file ends the reading: there may be any number of them, of any size.
    """
    try:
        reader = await request.multipart()
        while (part := await reader.next()) is not None:
            if not isinstance(part, BodyPartReader) or not part.filename:
                raise Rejected("file", "every part is a file, and has a filename")
            yield part
    except HttpProcessingError:  # a NUL in a name, for one
        raise Rejected(
            "body", "is not multipart/form-data: the headers of a part can't be read"
        ) from None
    except (ValueError, AssertionError) as fault:  # aiohttp asserts on a missing boundary
        raise Rejected("body", later("is not multipart/form-data: {fault}", fault=fault)) from None


async def _chunks(part: BodyPartReader) -> AsyncIterator[bytes]:
    while chunk := await part.read_chunk(CHUNK_BYTES):
        yield chunk
