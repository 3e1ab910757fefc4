"""The double's streams: messages that grow until they are stopped, by their app or by a person.

As docs.slack.dev and recordings of a workspace tell (read 2026-11): an open stream can be neither
edited nor deleted, and one that is not open takes nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.doubles.slack_app import TEAM, App
from tests.doubles.slack_scopes import Refusal, room_of, utf16

if TYPE_CHECKING:
    from tests.doubles.slack import SlackDouble

Json = dict[str, Any]

MOST = 12_000
STATUSES = {"pending", "in_progress", "complete", "error"}
SESSIONS = {"active", "processing", "suspended", "closed"}


def is_open(message: Json) -> bool:
    return message.get("streaming_state") == "in_progress"


def start(slack: SlackDouble, app: App, args: Json) -> Json:
    channel, thread = room_of(slack, args), str(args.get("thread_ts") or "")
    if channel in slack.no_streams:
        raise Refusal("channel_type_not_supported")
    if not thread and channel not in slack.session_channels:
        raise Refusal("invalid_thread_ts")
    if thread and thread not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    if slack.channel_type(channel) != "im":
        if not args.get("recipient_team_id"):
            raise Refusal("missing_recipient_team_id")
        if args.get("recipient_user_id") not in slack.users:
            raise Refusal("missing_recipient_user_id")
    if args.get("task_display_mode", "timeline") not in ("timeline", "plan"):
        raise Refusal("invalid_arguments")
    message: Json = {"type": "message", "user": app.user, "bot_id": app.bot, "team": TEAM}
    if args.get("username"):
        message |= {"username": args["username"]}
    message |= {"ts": slack.new_ts(), "text": "", "blocks": []}
    message |= {"thread_ts": thread} if thread else {}
    message |= {"streaming_state": "in_progress"}
    _grow(message, args)
    slack.messages[channel][message["ts"]] = message
    if slack.echo_own:
        slack.tell(channel, message)
    return {"channel": channel, "ts": message["ts"]}


def append(slack: SlackDouble, app: App, args: Json) -> Json:
    channel, message = _streamed(slack, app, args)
    if not (args.get("chunks") or args.get("markdown_text")):
        raise Refusal("no_text")
    _grow(message, args)
    return {"channel": channel, "ts": message["ts"]}


def stop(slack: SlackDouble, app: App, args: Json) -> Json:
    channel, message = _streamed(slack, app, args)
    metadata = args.get("metadata")
    if metadata is not None and not (
        isinstance(metadata, dict) and {"event_type", "event_payload"} <= metadata.keys()
    ):
        raise Refusal("invalid_metadata_format")
    if args.get("session_status", "active") not in SESSIONS:
        raise Refusal("invalid_arguments")
    _grow(message, args)
    message["streaming_state"] = "completed"
    message |= {"metadata": metadata} if metadata else {}
    if slack.echo_own:
        slack.changed(channel, "message_changed", message=dict(message), previous_message=message)
    return {"channel": channel, "ts": message["ts"], "message": message}


def _streamed(slack: SlackDouble, app: App, args: Json) -> tuple[str, Json]:
    channel = room_of(slack, args)
    message = slack.messages[channel].get(str(args.get("ts") or ""))
    if message is None:
        raise Refusal("message_not_found")
    if message.get("bot_id") != app.bot:
        raise Refusal("message_not_owned_by_app")
    if message.get("streaming_state") == "stopped_by_user":
        raise Refusal("stopped_by_user")
    if not is_open(message):
        raise Refusal("message_not_in_streaming_state")
    return channel, message


def _grow(message: Json, args: Json) -> None:
    """Add what was sent. A stream is of text or of chunks, never of both."""
    mode = "chunks" if args.get("chunks") else "text" if args.get("markdown_text") else None
    if mode and message.setdefault("stream_mode", mode) != mode:
        raise Refusal("streaming_mode_mismatch")
    chunks = args.get("chunks") or []
    if args.get("markdown_text"):
        chunks = [{"type": "markdown_text", "text": str(args["markdown_text"])}]
    if not isinstance(chunks, list):
        raise Refusal("invalid_chunks")
    tasks = {block["task_id"]: block for block in message["blocks"] if block["type"] == "task_card"}
    text = "".join(block["text"] for block in message["blocks"] if block["type"] == "markdown")
    for chunk in chunks:
        match chunk:
            case {"type": "markdown_text", "text": str(said)} if said:
                text += said
            case {"type": "task_update", "id": str(id_), "title": str(title), "status": status}:
                output = chunk.get("output", "")
                if status not in STATUSES or not 0 < len(title) <= 256 or len(output) > 256:
                    raise Refusal("invalid_chunks")
                card = {"type": "task_card", "task_id": id_, "title": title, "status": status}
                tasks[id_] = {**card, "output": output}
            case _:
                raise Refusal("invalid_chunks")
    if utf16(text) > MOST:
        raise Refusal("msg_too_long")
    if len(tasks) > 50:
        raise Refusal("invalid_blocks")
    written = [{"type": "markdown", "text": text}] if text else []
    message |= {"blocks": [*tasks.values(), *written], "text": text}


def session(slack: SlackDouble, app: App, args: Json) -> Json:
    """agents.sessions.setStatus"""
    channel, thread = room_of(slack, args, "channel_id"), str(args.get("thread_ts") or "")
    if not app.is_agent:
        raise Refusal("not_an_agent")
    if args.get("status") not in SESSIONS:
        raise Refusal("invalid_arguments")
    if thread not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    slack.sessions[channel, thread] = str(args["status"])
    return {"status": args["status"]}


def publish_home(slack: SlackDouble, app: App, args: Json) -> Json:
    """views.publish"""
    view, user = args.get("view"), str(args.get("user_id") or "")
    if user not in slack.users or not isinstance(view, dict) or view.get("type") != "home":
        raise Refusal("invalid_arguments")
    for block in view["blocks"]:
        most = {"header": 150, "section": 3_000}.get(block["type"])
        if most is None or not 0 < len(block["text"]["text"]) <= most:
            raise Refusal("invalid_arguments")
    if len(view["blocks"]) > 100:
        raise Refusal("invalid_arguments")
    slack.homes[user] = view
    return {"view": view}


def open_view(slack: SlackDouble, app: App, args: Json) -> Json:
    """views.open"""
    view = args.get("view")
    if not args.get("trigger_id"):
        raise Refusal("invalid_trigger_id")
    if not isinstance(view, dict) or len(view["title"]["text"]) > 24:
        raise Refusal("invalid_arguments")
    if len(view.get("private_metadata", "")) > 3_000 or not 0 < len(view["blocks"]) <= 100:
        raise Refusal("invalid_arguments")
    slack.views.append(view)
    return {"view": view}


def prompts(slack: SlackDouble, app: App, args: Json) -> Json:
    """assistant.threads.setSuggestedPrompts"""
    channel, given = room_of(slack, args, "channel_id"), args.get("prompts")
    if not isinstance(given, list) or not 0 < len(given) <= 4:
        raise Refusal("invalid_arguments")
    if not all({"title", "message"} <= prompt.keys() for prompt in given):
        raise Refusal("invalid_arguments")
    slack.prompts[channel] = given
    return {}
