"""What the REST routes of the double check, change and answer.

The keys a route takes are those of @rocket.chat/rest-typings, whose schemas the tests compare
with what is sent here: an unknown key is refused, as the server does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.doubles.rocketchat_wire import Refusal, parsed
from tests.doubles.uploads import bytes_of

if TYPE_CHECKING:
    from tests.doubles.rocketchat_rest import Rest

Json = dict[str, Any]

_PAGE = 50

_PAGED = ("count", "offset", "sort")
_HISTORY = ("latest", "oldest", "inclusive", "unreads", "showThreadMessages", *_PAGED)
_MEMBERS = ("filter", "status", *_PAGED)


@dataclass(frozen=True, slots=True)
class Route:
    """needs: one of these sets of keys; takes: more keys that it knows."""

    method: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    work: Callable[[Rest, str, Json], Json]


def _room(rest: Rest, user: str, args: Json, kind: str | None = None) -> Json:
    room = rest.double.rooms.get(str(args.get("roomId") or args.get("/0") or ""))
    if room is None or (kind and room["t"] != kind) or user not in room["uids"]:
        raise Refusal("error-room-not-found", "The required room was not found")
    return room


def _message(rest: Rest, message_id: Any) -> Json:
    message = rest.double.messages.get(str(message_id))
    if message is None:
        raise Refusal("error-message-not-found", f"No message found with the id of {message_id}.")
    return message


def _own(rest: Rest, user: str, args: Json) -> Json:
    message = _message(rest, args["msgId"])
    if message["rid"] != args["roomId"]:
        raise Refusal("error-invalid-room", "The room id is not that of the message.")
    if message["u"]["_id"] != user:
        raise Refusal("error-action-not-allowed", "Not allowed")
    return message


def _paged(args: Json, found: list[Json], name: str) -> Json:
    start, size = int(args.get("offset") or 0), int(args.get("count") or _PAGE)
    page = found[start : start + size]
    return {name: page, "count": len(page), "offset": start, "total": len(found)}


def _me(rest: Rest, user: str, args: Json) -> Json:
    return {**rest.double.users[user], "settings": {"preferences": {}}}


def _send(rest: Rest, user: str, args: Json) -> Json:
    message = args["message"]
    known = {"_id", "rid", "tmid", "msg", "alias", "emoji", "tshow", "avatar", "attachments"}
    if not isinstance(message, dict) or message.keys() - known - {"blocks", "customFields"}:
        raise Refusal("error-invalid-params", "message")
    made = rest.double.send(user, message)
    return {"message": made} if made else {}


def _post(rest: Rest, user: str, args: Json) -> Json:
    target = str(args.get("roomId") or args.get("channel") or "")
    named = {f"#{room.get('name')}": rid for rid, room in rest.double.rooms.items()}
    given = {**args, "rid": named.get(target, target), "msg": args.get("text")}
    made = rest.double.send(user, given)
    assert made is not None
    return {"message": made, "channel": made["rid"], "ts": made["ts"]}


def _update(rest: Rest, user: str, args: Json) -> Json:
    message = _own(rest, user, args)
    if not rest.double.settings["Message_AllowEditing"]:
        raise Refusal("error-action-not-allowed", "Message editing not allowed")
    minutes = rest.double.settings.get("Message_AllowEditing_BlockEditInMinutes")
    late = minutes and time.time() - parsed(message["ts"]) >= minutes * 60
    if late and not rest.double.may(user, "bypass-time-limit-edit-and-delete"):
        raise Refusal("error-message-editing-blocked", "Message editing is blocked")
    if len(args["text"].encode("utf-16-le")) // 2 > rest.double.most_chars:
        raise Refusal("error-message-size-exceeded", "Message size exceeds the limit")
    if message["msg"] != args["text"]:
        rest.double.edit(message["_id"], args["text"], user)
    return {"message": rest.double.messages[message["_id"]]}


def _delete(rest: Rest, user: str, args: Json) -> Json:
    message = _own(rest, user, args)
    rest.double.remove(message["_id"])
    return {"_id": message["_id"], "ts": str(round(time.time() * 1000)), "message": message}


def _react(rest: Rest, user: str, args: Json) -> Json:
    emoji = str(args.get("emoji") or args.get("reaction") or "").strip(":")
    if not emoji or not emoji.replace("_", "").replace("-", "").isalnum():
        raise Refusal("error-emoji-param-not-provided", "The required emoji is missing")
    should = args.get("shouldReact")
    if should is not None and not isinstance(should, bool):
        raise Refusal("error-invalid-params", "shouldReact must be boolean")
    rest.double.react(_message(rest, args["messageId"])["_id"], emoji, user, should=should)
    return {}


def _get_message(rest: Rest, user: str, args: Json) -> Json:
    """v1/chat.ts: of a message that isn't there it says no more than that it failed."""
    if (message := rest.double.messages.get(args["msgId"])) is None:
        raise Refusal("")
    if not rest.double.is_member(message["rid"], user):
        raise Refusal("error-not-allowed", "Not allowed")
    return {"message": message}


def _thread(rest: Rest, user: str, args: Json) -> Json:
    _message(rest, args["tmid"])
    told = rest.double.messages.values()
    found = [m for m in told if m.get("tmid") == args["tmid"]]
    newest_first = json.loads(args.get("sort") or "{}").get("ts") == -1
    return _paged(args, sorted(found, key=lambda m: m["ts"], reverse=newest_first), "messages")


def _sync(rest: Rest, user: str, args: Json) -> Json:
    room = _room(rest, user, args)
    since = args.get("lastUpdate")
    if not since:
        raise Refusal("error-param-required", "The required lastUpdate is missing")
    gone = [
        {"_id": d["_id"], "_deletedAt": d["_deletedAt"]}
        for d in rest.double.deleted
        if d["rid"] == room["_id"] and parsed(d["_deletedAt"]) > parsed(since)
    ]
    return {"result": {"updated": rest.double.since(room["_id"], since), "deleted": gone}}


def _history(kind: str) -> Callable[[Rest, str, Json], Json]:
    def work(rest: Rest, user: str, args: Json) -> Json:
        room = _room(rest, user, args, kind)
        found = rest.double.since(room["_id"], args.get("oldest") or "1970-01-01T00:00:00Z", "ts")
        newest = sorted(found, key=lambda m: m["ts"], reverse=True)
        return {"messages": _paged(args, newest, "messages")["messages"]}

    return work


def _members(kind: str) -> Callable[[Rest, str, Json], Json]:
    def work(rest: Rest, user: str, args: Json) -> Json:
        told = (rest.double.users[uid] for uid in _room(rest, user, args, kind)["uids"])
        shown = [{k: u[k] for k in ("_id", "username", "name")} for u in told]
        return _paged(args, shown, "members")

    return work


def _roles(rest: Rest, user: str, args: Json) -> Json:
    room = _room(rest, user, args)
    held = rest.double.roles[room["_id"]].items()
    who = {uid: {k: rest.double.users[uid][k] for k in ("_id", "username")} for uid, _ in held}
    return {"roles": [{"rid": room["_id"], "u": who[uid], "roles": roles} for uid, roles in held]}


def _user_info(rest: Rest, user: str, args: Json) -> Json:
    told = rest.double.users.values()
    wanted = ("_id", args["userId"]) if "userId" in args else ("username", args.get("username"))
    found = [u for u in told if u[wanted[0]] == wanted[1]]
    if not found:
        raise Refusal("error-invalid-user", "The required user was not found")
    return {"user": {k: v for k, v in found[0].items() if k != "roles"}}


def _room_info(rest: Rest, user: str, args: Json) -> Json:
    return {"room": _room(rest, user, args)}


def _rooms(rest: Rest, user: str, args: Json) -> Json:
    return {"update": [r for r in rest.double.rooms.values() if user in r["uids"]], "remove": []}


def _subscriptions(rest: Rest, user: str, args: Json) -> Json:
    mine = [rid for rid, room in rest.double.rooms.items() if user in room["uids"]]
    return {"update": [rest.double.subscription(rid, user) for rid in mine], "remove": []}


def _settings(rest: Rest, user: str, args: Json) -> Json:
    told = {**rest.double.settings, "Message_MaxAllowedSize": rest.double.most_chars}
    names = (args.get("_id") or "").split(",")
    found = [{"_id": k, "value": v} for k, v in told.items() if k in names]
    return _paged(args, found, "settings")


def _permissions(rest: Rest, user: str, args: Json) -> Json:
    told = rest.double.permissions.items()
    return {"update": [{"_id": name, "roles": roles} for name, roles in told], "remove": []}


def _media(rest: Rest, user: str, args: Json) -> Json:
    room, part = _room(rest, user, args), args["file"]
    if not isinstance(part, web.FileField):
        raise Refusal("invalid-field", "invalid-field")
    data = bytes_of(part)
    file_id = rest.double.file(part.filename, data, part.content_type, room["_id"])
    return {"file": {"_id": file_id, "url": f"/file-upload/{file_id}/{part.filename}"}}


def _confirm(rest: Rest, user: str, args: Json) -> Json:
    room = _room(rest, user, args)
    if args.get("/1") not in rest.double.files:
        raise Refusal("invalid-file")
    told = {key: args.get(key) for key in ("msg", "tmid")}
    return {"message": rest.double.share(user, room["_id"], args["/1"], **told)}


def _upload(rest: Rest, user: str, args: Json) -> Json:
    made = _media(rest, user, args)["file"]["_id"]
    told = {key: args.get(key) for key in ("msg", "tmid")}
    return {"message": rest.double.share(user, args["/0"], made, **told)}


_TOLD = ("msg", "description", "tmid", "customFields")
_FIRST = ("fileName", "content", "t", "groupable")

ROUTES: dict[str, Route] = {
    "me": Route("GET", (), (), _me),
    "chat.sendMessage": Route("POST", ("message",), ("previewUrls",), _send),
    "chat.postMessage": Route(
        "POST",
        (),
        (
            *("roomId", "channel", "text", "alias", "emoji", "avatar", "attachments"),
            *("tmid", "customFields", "parseUrls"),
        ),
        _post,
    ),
    "chat.update": Route(
        "POST", ("roomId", "msgId", "text"), ("previewUrls", "customFields"), _update
    ),
    "chat.delete": Route("POST", ("roomId", "msgId"), ("asUser",), _delete),
    "chat.react": Route("POST", ("messageId",), ("emoji", "reaction", "shouldReact"), _react),
    "chat.getMessage": Route("GET", ("msgId",), (), _get_message),
    "chat.getThreadMessages": Route("GET", ("tmid",), _PAGED, _thread),
    "chat.syncMessages": Route(
        "GET", ("roomId",), ("lastUpdate", "count", "next", "previous", "type"), _sync
    ),
    "channels.history": Route("GET", ("roomId",), _HISTORY, _history("c")),
    "groups.history": Route("GET", ("roomId",), _HISTORY, _history("p")),
    "im.history": Route("GET", ("roomId",), _HISTORY, _history("d")),
    "channels.members": Route("GET", ("roomId",), _MEMBERS, _members("c")),
    "groups.members": Route(
        "GET", ("roomId",), ("filter", "status", "count", "offset"), _members("p")
    ),
    "im.members": Route("GET", ("roomId",), _MEMBERS, _members("d")),
    "channels.roles": Route("GET", ("roomId",), (), _roles),
    "groups.roles": Route("GET", ("roomId",), (), _roles),
    "users.info": Route("GET", (), ("userId", "username", "fields"), _user_info),
    "rooms.info": Route("GET", ("roomId",), (), _room_info),
    "rooms.get": Route("GET", (), ("updatedSince",), _rooms),
    "subscriptions.get": Route("GET", (), ("updatedSince",), _subscriptions),
    "settings.public": Route("GET", (), ("_id", "query", *_PAGED), _settings),
    "permissions.listAll": Route("GET", (), ("updatedSince",), _permissions),
    "rooms.media": Route("POST", ("file",), _TOLD, _media),
    "rooms.mediaConfirm": Route("POST", (), (*_TOLD, *_FIRST), _confirm),
    "rooms.upload": Route("POST", ("file",), _TOLD, _upload),
}
