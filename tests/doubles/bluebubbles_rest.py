"""The calls of the BlueBubbles double: validated, answered and refused as the server does it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests.doubles.bluebubbles import OWNER, PASSWORD, BlueBubblesDouble, Call, Fault, Json
from tests.doubles.uploads import bytes_of

EVENTS = {
    "*", "new-message", "updated-message", "message-send-error", "group-name-change",
    "participant-removed", "participant-added", "participant-left", "typing-indicator",
    "chat-read-status-changed",
}  # fmt: skip


# What a webhook leaves out of a message.
MORE = {
    "country": "us", "isDelayed": False, "isAutoReply": False, "isSystemMessage": False,
    "isServiceMessage": False, "isForward": False, "threadOriginatorPart": None,
    "isCorrupt": False, "datePlayed": None, "cacheRoomnames": None, "isSpam": False,
    "isExpired": False, "timeExpressiveSendPlayed": None, "isAudioMessage": False,
    "replyToGuid": None, "shareStatus": 0, "shareDirection": 0,
    "wasDeliveredQuietly": False, "didNotifyRecipient": False,
}  # fmt: skip


class Refusal(Exception):
    def __init__(self, status: int, kind: str, message: str, data: object = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.data = status, kind, data


class Rest:
    def __init__(self, double: BlueBubblesDouble) -> None:
        self._double = double
        self._routes: list[tuple[str, str, Callable[..., Awaitable[Any]]]] = [
            ("GET", "ping", self._ping),
            ("GET", "server/info", self._info),
            ("GET", "webhook", self._webhooks),
            ("POST", "webhook", self._add_webhook),
            ("DELETE", r"webhook/(\d+)", self._delete_webhook),
            ("POST", "contact/query", self._contact_query),
            ("GET", "contact", self._contacts),
            ("POST", "message/query", self._query),
            ("POST", "message/text", self._text),
            ("POST", "message/attachment", self._attachment),
            ("POST", r"message/([^/]+)/edit", self._edit),
            ("POST", r"message/([^/]+)/unsend", self._unsend),
            ("GET", r"message/([^/]+)", self._message),
            ("GET", r"attachment/([^/]+)/download", self._download),
            ("POST", r"chat/([^/]+)/typing", self._typing),
            ("DELETE", r"chat/([^/]+)/typing", self._typing),
            ("GET", r"chat/([^/]+)", self._chat),
            ("POST", "chat/query", self._chats),
        ]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0].removeprefix("/api/v1/")
        body = await _body(request)
        self._double.calls.append(Call(request.method, unquote(path), body))
        faults = self._double.faults[unquote(path)]
        fault = faults.pop(0) if faults else None
        try:
            if fault and fault.when == "before" and (gone := await _failed(request, fault)):
                return gone
            answer = await self._called(request, path, body, fault)
        except Refusal as refusal:
            return _refused(refusal)
        if fault and fault.when == "after" and (gone := await _failed(request, fault)):
            return gone
        if isinstance(answer, web.StreamResponse):
            return answer
        return web.json_response({"status": 200, "message": "Success", "data": answer})

    async def _called(
        self, request: web.Request, path: str, body: Json, fault: Fault | None
    ) -> object:
        given = next(
            (request.query[k] for k in ("guid", "password", "token") if k in request.query), ""
        )
        if given != PASSWORD:
            raise Refusal(401, "Authentication Error", "Unauthorized")
        for verb, pattern, method in self._routes:
            if pattern in self._double.lacks:
                continue
            if verb == request.method and (match := re.fullmatch(pattern, path)):
                parts = [unquote(part) for part in match.groups()]
                if method in (self._text, self._attachment):
                    return await method(body, fault)
                return await method(*parts, body=body, request=request)
        raise Refusal(404, "Not Found", "Not Found")

    # ── The server ──────────────────────────────────────────────────────────────────────

    async def _ping(self, **_: Any) -> str:
        return "pong"

    async def _info(self, **_: Any) -> Json:
        return {
            "os_version": "14.5",
            "server_version": "1.9.9",
            "private_api": self._double.private_api,
            "proxy_service": "dynamic-dns",
            "helper_connected": self._double.helper_connected,
            "detected_icloud": "owner@example.org",
            "detected_imessage": OWNER,
        }

    async def _webhooks(self, **_: Any) -> list[Json]:
        return self._double.webhooks

    async def _add_webhook(self, body: Json, **_: Any) -> Json:
        url, events = body.get("url"), body.get("events")
        _require(isinstance(url, str) and url.startswith("http"), "Webhook URL is required!")
        _require(isinstance(events, list) and set(events) <= EVENTS, "Invalid webhook event")
        for hook in self._double.webhooks:
            if hook["url"] == url:  # its events stay as they were
                return hook
        number = 1 + max((hook["id"] for hook in self._double.webhooks), default=0)
        self._double.webhooks.append({"id": number, "url": url, "events": events, "created": None})
        return self._double.webhooks[-1]

    async def _delete_webhook(self, number: str, **_: Any) -> None:
        kept = [hook for hook in self._double.webhooks if hook["id"] != int(number)]
        if len(kept) == len(self._double.webhooks):
            raise Refusal(404, "Database Error", "Webhook does not exist!")
        self._double.webhooks[:] = kept

    async def _contact_query(self, body: Json, **_: Any) -> list[Json]:
        """By the end of a number; never by an address of mail, as the server's own does."""
        wanted = [re.sub(r"\W", "", address)[-10:] for address in body.get("addresses", [])]
        return [
            contact
            for contact in self._double.contacts
            for phone in contact.get("phoneNumbers", [])
            if re.sub(r"\W", "", phone["address"])[-10:] in wanted
        ]

    async def _contacts(self, **_: Any) -> list[Json]:
        return self._double.contacts

    # ── Messages ────────────────────────────────────────────────────────────────────────

    async def _query(self, body: Json, **_: Any) -> list[Json]:
        _require(isinstance(body.get("with", []), list), "The with must be an array.")
        _require(body.get("sort", "DESC") in ("ASC", "DESC"), "The selected sort is invalid.")
        limit, offset, after = body.get("limit", 100), body.get("offset", 0), body.get("after", 0)
        _require(1 <= limit <= 1000 and offset >= 0 and after >= 0, "The limit is invalid.")
        wanted = body.get("chatGuid")
        rows = [
            row
            for row in self._double.messages.values()
            if after <= (row["dateCreated"] or 2**53) <= body.get("before", 2**53)
            and wanted in (None, row["chats"][0]["guid"])
        ]
        if self._double.is_blunt:
            rows, offset, body = list(self._double.messages.values()), 0, {**body, "sort": "DESC"}
        rows.sort(key=lambda row: row["dateCreated"] or 2**53, reverse=body.get("sort") != "ASC")
        shown = rows[offset : offset + limit]
        if not {"chat", "chats"} & set(body.get("with", [])) and not wanted:
            return [{**row, **MORE, "chats": []} for row in shown]
        return [{**row, **MORE} for row in shown]

    async def _message(self, guid: str, **_: Any) -> Json:
        if guid not in self._double.messages:
            raise Refusal(404, "Database Error", "Message does not exist!")
        return {**self._double.messages[guid], **MORE}

    async def _text(self, body: Json, fault: Fault | None) -> Json:
        self._check_send(body)
        _require(bool(body.get("message")), "A 'message' is required")
        temp_guid = str(body["tempGuid"])
        row = self._double.row(body["message"], body["chatGuid"], from_me=True)
        return await self._sent(row, temp_guid, fault)

    async def _attachment(self, body: Json, fault: Fault | None) -> Json:
        self._check_send(body)
        name, data = body.get("name"), body.get("attachment")
        _require(isinstance(name, str) and bool(name), "The name field is required.")
        _require(isinstance(data, bytes) and bool(data), "Attachment not provided or was empty!")
        file = self._double.new_file(str(name), "application/octet-stream", data)  # type: ignore[arg-type]
        row = self._double.row("", body["chatGuid"], from_me=True, attachments=[file])
        return await self._sent(row, str(body["tempGuid"]), fault)

    def _check_send(self, body: Json) -> None:
        method = body.get("method", "apple-script")
        _require(method in ("apple-script", "private-api"), "The selected method is invalid.")
        _require(bool(body.get("tempGuid")), "A 'tempGuid' is required")
        if body["tempGuid"] in self._double.in_flight:
            told = f"Message is already queued to be sent! (Temp GUID: {body['tempGuid']})"
            raise Refusal(400, "Validation Error", told)
        if method == "private-api":
            self._need_private_api()
        if body.get("chatGuid") not in self._double.chats:
            raise Refusal(500, "iMessage Error", "Chat does not exist!")

    async def _sent(self, row: Json, temp_guid: str, fault: Fault | None) -> Json:
        """The name stays taken until the answer is ready."""
        if fault and fault.kind == "error":
            row = {**row, "error": fault.code}
            self._double.messages[row["guid"]] = row
            raise Refusal(500, "iMessage Error", "Failed to send message!", row)
        self._double.in_flight.add(temp_guid)
        try:
            await self._double.commit(row, temp_guid)
            if fault and fault.kind == "hang" and fault.release:
                await fault.release.wait()
        finally:
            self._double.in_flight.discard(temp_guid)
        guid = row["guid"] if self._double.tells_guids else None
        return {**row, **MORE, "guid": guid, "tempGuid": temp_guid}

    async def _edit(self, guid: str, body: Json, **_: Any) -> Json:
        _require(bool(body.get("editedMessage")), "The editedMessage field is required.")
        _require(bool(body.get("backwardsCompatibilityMessage")), "It is required.")
        row = self._own(guid)
        row |= {"text": body["editedMessage"], "dateEdited": self._double.now_ms()}
        await self._double.tell("updated-message", row, chats=[])
        return row

    async def _unsend(self, guid: str, **_: Any) -> Json:
        row = self._own(guid)
        row |= {"text": None, "dateEdited": self._double.now_ms()}
        await self._double.tell("updated-message", row, chats=[])
        return row

    def _own(self, guid: str) -> Json:
        if guid not in self._double.messages:
            raise Refusal(400, "Validation Error", "Selected message does not exist!")
        self._need_private_api()
        return self._double.messages[guid]

    def _need_private_api(self) -> None:
        if not (self._double.private_api and self._double.helper_connected):
            raise Refusal(500, "iMessage Error", "iMessage Private API is not enabled!")

    # ── Files and chats ─────────────────────────────────────────────────────────────────

    async def _download(self, guid: str, **_: Any) -> web.Response:
        if guid not in self._double.files:
            raise Refusal(500, "Server Error", "Attachment does not exist in disk!")
        kind = self._double.file_types.get(guid, "application/octet-stream")
        return web.Response(body=self._double.files[guid], content_type=kind)

    async def _chat(self, guid: str, request: web.Request, **_: Any) -> Json:
        if guid not in self._double.chats:
            raise Refusal(404, "Database Error", "Chat does not exist!")
        found = self._double.chats[guid]
        asked = request.query.get("with", "").split(",")
        return found if "participants" in asked else {**found, "participants": []}

    async def _chats(self, **_: Any) -> list[Json]:
        return list(self._double.chats.values())

    async def _typing(self, guid: str, request: web.Request, **_: Any) -> None:
        self._need_private_api()
        self._double.typing.append((request.method, guid))


async def _body(request: web.Request) -> Json:
    if request.content_type.startswith("multipart/"):
        form: Mapping[str, Any] = await request.post()
        return {
            name: bytes_of(value) if isinstance(value, web.FileField) else value
            for name, value in form.items()
        }
    return dict(await request.json()) if request.can_read_body else {}


async def _failed(request: web.Request, fault: Fault) -> web.StreamResponse | None:
    """The answer of a call that goes wrong now, or None when it goes on."""
    if fault.kind == "cut":
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    if fault.kind == "429":
        return web.json_response({"status": 429}, status=429, headers={"Retry-After": "0.05"})
    if fault.kind == "500":
        return _refused(Refusal(500, "iMessage Error", "Message send timeout"))
    if fault.kind == "garbled":
        return web.Response(text="<html>tunnel</html>", content_type="text/html")
    return None


def _refused(refusal: Refusal) -> web.Response:
    body: Json = {
        "status": refusal.status,
        "message": "it went wrong",
        "error": {"type": refusal.kind, "message": str(refusal)},
    }
    if refusal.data is not None:
        body["data"] = refusal.data
    return web.json_response(body, status=refusal.status)


def _require(holds: bool, told: str) -> None:
    if not holds:
        raise Refusal(400, "Validation Error", told)
