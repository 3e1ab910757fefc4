"""The methods of Slack's Web API that the double knows: what they check, change and answer.

What they refuse is from docs.slack.dev/reference/methods, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.doubles.slack_app import TEAM, App

if TYPE_CHECKING:
    from tests.doubles.slack import SlackDouble

Json = dict[str, Any]


class Refusal(Exception):
    """`ok: false` with this code."""

    def __init__(self, code: str, **more: str) -> None:
        super().__init__(code)
        self.code, self.more = code, more


SCOPES: dict[str, str] = {
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "users.info": "users:read",
    "pins.add": "pins:write",
    "pins.remove": "pins:write",
    "reactions.add": "reactions:write",
    "reactions.remove": "reactions:write",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "files.info": "files:read",
    "assistant.threads.setStatus": "assistant:write",
}
# These need a scope for each kind of room.
_READS = {
    "conversations.history": "history",
    "conversations.replies": "history",
    "conversations.info": "read",
    "conversations.members": "read",
}
_KINDS = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}
_TYPES = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}


def needed_scopes(slack: SlackDouble, method: str, args: Json) -> set[str]:
    """What a call needs."""
    if method in _READS:
        channel = str(args.get("channel") or "")
        kind = slack.channel_type(channel) if channel in slack.channels else "channel"
        return {f"{_KINDS[kind]}:{_READS[method]}"}
    if method == "users.conversations":
        return {f"{_KINDS[_TYPES[name]]}:read" for name in _types(args)}
    needed = {SCOPES[method]} if method in SCOPES else set()
    if args.get("username") or args.get("icon_url"):
        needed.add("chat:write.customize")
    return needed


def _types(args: Json) -> list[str]:
    types = str(args.get("types") or "public_channel").split(",")
    if not set(types) <= _TYPES.keys():
        raise Refusal("invalid_types")
    return types


def _true(value: Any) -> bool:
    return value in (True, "true", "1", 1)


def _channel(slack: SlackDouble, args: Json, name: str = "channel") -> str:
    channel = str(args.get(name) or "")
    if channel not in slack.channels:
        raise Refusal("channel_not_found")
    if slack.channels[channel].get("is_archived"):
        raise Refusal("is_archived")
    return channel


def _message(slack: SlackDouble, args: Json, field: str = "ts") -> Json:
    channel = _channel(slack, args)
    ts = str(args.get(field) or "")
    if not re.fullmatch(r"\d+\.\d{6}", ts):
        raise Refusal("bad_timestamp" if field == "timestamp" else "invalid_arguments")
    if ts not in slack.messages[channel]:
        raise Refusal("message_not_found")
    return slack.messages[channel][ts]


def _check_blocks(blocks: Any) -> None:
    if not isinstance(blocks, list) or len(blocks) > 50:
        raise Refusal("invalid_blocks")
    actions: set[str] = set()
    for block in blocks:
        kind = block.get("type")
        if kind == "section" and not 0 < len(block["text"]["text"]) <= 3000:
            raise Refusal("invalid_blocks")
        if kind == "actions":
            elements = block["elements"]
            ids = [element["action_id"] for element in elements]
            labels = [element["text"]["text"] for element in elements]
            if not 0 < len(elements) <= 25 or len(set(ids)) < len(ids) or actions & set(ids):
                raise Refusal("invalid_blocks")
            if any(not 0 < len(label) <= 75 for label in labels):
                raise Refusal("invalid_blocks")
            if any(len(element.get("value") or "") > 2000 for element in elements):
                raise Refusal("invalid_blocks")
            actions |= set(ids)


def _auth_test(slack: SlackDouble, app: App, args: Json) -> Json:
    return {"url": slack.base, "team": "Test", "user": app.name, "team_id": TEAM} | {
        "user_id": app.user,
        "bot_id": app.bot,
        "is_enterprise_install": False,
    }


def _connections_open(slack: SlackDouble, app: App, args: Json) -> Json:
    return {"url": app.delivery.ticket(slack.base)}


def _author(app: App, args: Json) -> Json:
    """Who wrote it. Under a name of its own it is no user's message any more."""
    made: Json = {"type": "message", "bot_id": app.bot, "app_id": app.id}
    if args.get("username") or args.get("icon_url"):
        shown = {"subtype": "bot_message", "username": args.get("username") or app.name}
        return {**made, **shown, "icons": {"image_url": args.get("icon_url")}}
    profile = {"id": app.bot, "app_id": app.id, "name": app.name}
    return {**made, "user": app.user, "bot_profile": profile}


def _post(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = _channel(slack, args)
    text = str(args.get("text") or "")
    if not text.strip() and not args.get("blocks"):
        raise Refusal("no_text")
    thread = args.get("thread_ts")
    if thread and thread not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    if args.get("blocks"):
        _check_blocks(args["blocks"])
    metadata = args.get("metadata")
    if metadata is not None and not (
        isinstance(metadata, dict) and {"event_type", "event_payload"} <= metadata.keys()
    ):
        raise Refusal("invalid_metadata_format")
    message = {**_author(app, args), "text": text[:40_000], "ts": slack.new_ts(), "team": TEAM}
    message |= {k: args[k] for k in ("blocks", "metadata", "thread_ts") if args.get(k)}
    slack.messages[channel][message["ts"]] = message
    if slack.echo_own:
        slack.tell(channel, message)
    return {"channel": channel, "ts": message["ts"], "message": message}


def _update(slack: SlackDouble, app: App, args: Json) -> Json:
    message = _message(slack, args)
    if message.get("bot_id") != app.bot:
        raise Refusal("cant_update_message")
    text = args.get("text")
    if text is not None and len(str(text).encode()) > 4000:
        raise Refusal("msg_too_long")
    if text is not None and not str(text).strip():
        raise Refusal("no_text")
    if args.get("blocks"):
        _check_blocks(args["blocks"])
    old = dict(message)
    message |= {"text": text, "edited": {"user": app.user, "ts": slack.new_ts()}}
    if "blocks" in args:
        message["blocks"] = args["blocks"]
    channel = str(args["channel"])
    if slack.echo_own:
        slack.changed(channel, "message_changed", message=dict(message), previous_message=old)
    return {"channel": channel, "ts": message["ts"], "text": text}


def _delete(slack: SlackDouble, app: App, args: Json) -> Json:
    message = _message(slack, args)
    if message.get("bot_id") != app.bot:
        raise Refusal("cant_delete_message")
    channel = str(args["channel"])
    del slack.messages[channel][message["ts"]]
    if slack.echo_own:
        slack.changed(channel, "message_deleted", deleted_ts=message["ts"])
    return {"channel": channel, "ts": message["ts"]}


def _paged(slack: SlackDouble, args: Json, field: str, found: list[Any]) -> Json:
    size = min(int(args.get("limit") or 100), slack.page_size)
    start = int(args.get("cursor") or 0)
    more = start + size < len(found)
    cursor = {"next_cursor": str(start + size) if more else ""}
    return {field: found[start : start + size], "has_more": more, "response_metadata": cursor}


def _shown(slack: SlackDouble, channel: str, message: Json, args: Json) -> Json:
    """A message as history tells it: a root with its thread's figures, and of no channel."""
    kept = _true(args.get("include_all_metadata"))
    shown = {k: v for k, v in message.items() if k != "metadata" or kept}
    root = message["ts"]
    replies = [m["ts"] for m in slack.messages[channel].values() if m.get("thread_ts") == root]
    replies = [ts for ts in replies if ts != root]
    if replies:
        shown |= {"thread_ts": root, "reply_count": len(replies), "latest_reply": max(replies)}
    return shown


def _between(args: Json, ts: str) -> bool:
    oldest, latest = float(args.get("oldest") or 0), float(args.get("latest") or "inf")
    inside = oldest < float(ts) < latest
    return inside or (_true(args.get("inclusive")) and float(ts) in (oldest, latest))


def _history(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = _channel(slack, args)
    found = [
        _shown(slack, channel, m, args)
        for m in slack.messages[channel].values()
        if _between(args, m["ts"])
        and (m.get("thread_ts") in (None, m["ts"]) or m.get("subtype") == "thread_broadcast")
    ]
    return _paged(slack, args, "messages", sorted(found, key=lambda m: m["ts"], reverse=True))


def _replies(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = _channel(slack, args)
    root = str(args.get("ts") or "")
    if root not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    found = [
        _shown(slack, channel, m, args)
        for m in slack.messages[channel].values()
        if m["ts"] == root or (m.get("thread_ts") == root and _between(args, m["ts"]))
    ]
    return _paged(slack, args, "messages", sorted(found, key=lambda m: m["ts"]))


def _info(slack: SlackDouble, app: App, args: Json) -> Json:
    return {"channel": slack.channels[_channel(slack, args)]}


def _members(slack: SlackDouble, app: App, args: Json) -> Json:
    return _paged(slack, args, "members", slack.members[_channel(slack, args)])


def _user(slack: SlackDouble, app: App, args: Json) -> Json:
    user = str(args.get("user") or "")
    if user not in slack.users:
        raise Refusal("user_not_found")
    return {"user": slack.users[user]}


def _react(slack: SlackDouble, app: App, args: Json) -> Json:
    message, name = _message(slack, args, "timestamp"), str(args.get("name") or "")
    if not re.fullmatch(r"[a-z0-9_+-]+", name):
        raise Refusal("invalid_name")
    names: list[str] = message.setdefault("reactions", [])
    if name in names:
        raise Refusal("already_reacted")
    names.append(name)
    if slack.echo_own:
        slack.reacted("reaction_added", str(args["channel"]), message["ts"], name, app.user)
    return {}


def _unreact(slack: SlackDouble, app: App, args: Json) -> Json:
    message = _message(slack, args, "timestamp")
    names: list[str] = message.setdefault("reactions", [])
    if args.get("name") not in names:
        raise Refusal("no_reaction")
    names.remove(str(args["name"]))
    if slack.echo_own:
        slack.reacted(
            "reaction_removed", str(args["channel"]), message["ts"], str(args["name"]), app.user
        )
    return {}


def _pin(slack: SlackDouble, app: App, args: Json) -> Json:
    message = _message(slack, args, "timestamp")
    if message.get("pinned_to"):
        raise Refusal("already_pinned")
    slack.pinned("pin_added", str(args["channel"]), message["ts"], app.user)
    return {}


def _unpin(slack: SlackDouble, app: App, args: Json) -> Json:
    message = _message(slack, args, "timestamp")
    if not message.get("pinned_to"):
        raise Refusal("no_pin")
    slack.pinned("pin_removed", str(args["channel"]), message["ts"], app.user)
    return {}


def _conversations(slack: SlackDouble, app: App, args: Json) -> Json:
    kinds = {_TYPES[name] for name in _types(args)}
    hidden = _true(args.get("exclude_archived"))
    found = [
        {**channel, "is_member": True}
        for name, channel in slack.channels.items()
        if app.user in slack.members[name]
        and slack.channel_type(name) in kinds
        and not (hidden and channel.get("is_archived"))
    ]
    return _paged(slack, args, "channels", found)


def _upload_url(slack: SlackDouble, app: App, args: Json) -> Json:
    if not args.get("filename") or not str(args.get("length") or "").isdigit():
        raise Refusal("invalid_arguments")
    file_id = slack.file(str(args["filename"]), b"")
    return {"upload_url": f"{slack.base}/upload/{file_id}", "file_id": file_id}


def _complete_upload(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = _channel(slack, args, "channel_id")
    files = args.get("files")
    if not isinstance(files, list) or any(f["id"] not in slack.files for f in files):
        raise Refusal("file_not_found")
    for file in files:
        slack.files[file["id"]].shared = True
    message = {**_author(app, args), "text": str(args.get("initial_comment") or "")}
    message.setdefault("subtype", "file_share")
    message |= {"ts": slack.new_ts(), "files": [slack.file_info(f["id"]) for f in files]}
    if args.get("thread_ts"):
        message["thread_ts"] = args["thread_ts"]
    slack.messages[channel][message["ts"]] = message
    return {"files": [{"id": f["id"], "title": f.get("title")} for f in files]}


def _file(slack: SlackDouble, app: App, args: Json) -> Json:
    if args.get("file") not in slack.files:
        raise Refusal("file_not_found")
    return {"file": slack.file_info(str(args["file"]))}


def _status(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = _channel(slack, args, "channel_id")
    if not args.get("thread_ts") or args["thread_ts"] not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    slack.statuses[channel, str(args["thread_ts"])] = str(args.get("status") or "")
    return {}


METHODS: dict[str, Callable[[SlackDouble, App, Json], Json]] = {
    "auth.test": _auth_test,
    "apps.connections.open": _connections_open,
    "chat.postMessage": _post,
    "chat.update": _update,
    "chat.delete": _delete,
    "conversations.history": _history,
    "conversations.replies": _replies,
    "conversations.info": _info,
    "conversations.members": _members,
    "users.info": _user,
    "users.conversations": _conversations,
    "pins.add": _pin,
    "pins.remove": _unpin,
    "reactions.add": _react,
    "reactions.remove": _unreact,
    "files.getUploadURLExternal": _upload_url,
    "files.completeUploadExternal": _complete_upload,
    "files.info": _file,
    "assistant.threads.setStatus": _status,
}
