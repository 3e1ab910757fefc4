"""The methods of Slack's Web API that the double knows: what they check, change and answer.

What they refuse is from docs.slack.dev/reference/methods, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.doubles import slack_rooms, slack_streams
from tests.doubles.slack_app import TEAM, App
from tests.doubles.slack_scopes import Refusal, room_of, utf16

if TYPE_CHECKING:
    from tests.doubles.slack import SlackDouble

Json = dict[str, Any]


def _message(slack: SlackDouble, args: Json, field: str = "ts") -> Json:
    channel = room_of(slack, args)
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
    written = [block.get("text") for block in blocks if block.get("type") == "markdown"]
    if not all(isinstance(text, str) and text for text in written):
        raise Refusal("invalid_blocks")
    if sum(map(utf16, written)) > 12_000:  # docs.slack.dev: of all such blocks of a message
        raise Refusal("msg_blocks_too_long")
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
    channel = room_of(slack, args)
    if app.user not in slack.members[channel]:
        raise Refusal("not_in_channel")
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


def _post_ephemeral(slack: SlackDouble, app: App, args: Json) -> Json:
    channel, user = room_of(slack, args), str(args.get("user") or "")
    if user not in slack.users:
        raise Refusal("user_not_in_channel")
    if not str(args.get("text") or "").strip():
        raise Refusal("no_text")
    if args.get("blocks"):
        _check_blocks(args["blocks"])
    slack.whispers.append((channel, user, str(args["text"])))
    return {"message_ts": slack.new_ts()}


def _update(slack: SlackDouble, app: App, args: Json) -> Json:
    message = _message(slack, args)
    if message.get("bot_id") != app.bot:
        raise Refusal("cant_update_message")
    if slack_streams.is_open(message):
        raise Refusal("streaming_state_conflict")
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
    if message.get("bot_id") != app.bot or slack_streams.is_open(message):
        raise Refusal("cant_delete_message")
    channel = str(args["channel"])
    del slack.messages[channel][message["ts"]]
    if slack.echo_own:
        slack.changed(channel, "message_deleted", deleted_ts=message["ts"])
    return {"channel": channel, "ts": message["ts"]}


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


def _upload_url(slack: SlackDouble, app: App, args: Json) -> Json:
    if not args.get("filename") or not str(args.get("length") or "").isdigit():
        raise Refusal("invalid_arguments")
    file_id = slack.file(str(args["filename"]), b"")
    return {"upload_url": f"{slack.base}/upload/{file_id}", "file_id": file_id}


def _complete_upload(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = room_of(slack, args, "channel_id")
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
    channel = room_of(slack, args, "channel_id")
    if not args.get("thread_ts") or args["thread_ts"] not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    slack.statuses[channel, str(args["thread_ts"])] = str(args.get("status") or "")
    return {}


METHODS: dict[str, Callable[[SlackDouble, App, Json], Json]] = {
    "auth.test": _auth_test,
    "apps.connections.open": _connections_open,
    "chat.postMessage": _post,
    "chat.postEphemeral": _post_ephemeral,
    "chat.update": _update,
    "chat.delete": _delete,
    "conversations.history": slack_rooms.history,
    "conversations.replies": slack_rooms.replies,
    "conversations.info": slack_rooms.info,
    "conversations.members": slack_rooms.members,
    "users.info": slack_rooms.user,
    "conversations.list": slack_rooms.every,
    "users.conversations": slack_rooms.conversations,
    "pins.add": _pin,
    "pins.remove": _unpin,
    "reactions.add": _react,
    "reactions.remove": _unreact,
    "files.getUploadURLExternal": _upload_url,
    "files.completeUploadExternal": _complete_upload,
    "files.info": _file,
    "chat.startStream": slack_streams.start,
    "chat.appendStream": slack_streams.append,
    "chat.stopStream": slack_streams.stop,
    "views.publish": slack_streams.publish_home,
    "views.open": slack_streams.open_view,
    "agents.sessions.setStatus": slack_streams.session,
    "assistant.threads.setStatus": _status,
    "assistant.threads.setSuggestedPrompts": slack_streams.prompts,
}
