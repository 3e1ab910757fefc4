"""How the double's rooms are read: histories, threads, members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.doubles.slack_app import App
from tests.doubles.slack_scopes import TYPES, Refusal, room_of, true, types_of

if TYPE_CHECKING:
    from tests.doubles.slack import SlackDouble

Json = dict[str, Any]


def paged(slack: SlackDouble, args: Json, field: str, found: list[Any]) -> Json:
    size = min(int(args.get("limit") or 100), slack.page_size)
    start = int(args.get("cursor") or 0)
    more = start + size < len(found)
    cursor = {"next_cursor": str(start + size) if more else ""}
    return {field: found[start : start + size], "has_more": more, "response_metadata": cursor}


def _messages(slack: SlackDouble, channel: str, args: Json, found: list[Json]) -> Json:
    page = paged(slack, args, "messages", found)
    return {**page, "messages": [_shown(slack, channel, m, args) for m in page["messages"]]}


def _shown(slack: SlackDouble, channel: str, message: Json, args: Json) -> Json:
    """A message as history tells it: a root with its thread's figures, and of no channel."""
    kept = true(args.get("include_all_metadata"))
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
    return inside or (true(args.get("inclusive")) and float(ts) in (oldest, latest))


def history(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = room_of(slack, args)
    found = [
        m
        for m in slack.messages[channel].values()
        if _between(args, m["ts"])
        and (m.get("thread_ts") in (None, m["ts"]) or m.get("subtype") == "thread_broadcast")
    ]
    found.sort(key=lambda m: m["ts"], reverse=True)
    return _messages(slack, channel, args, found)


def replies(slack: SlackDouble, app: App, args: Json) -> Json:
    channel = room_of(slack, args)
    root = str(args.get("ts") or "")
    if root not in slack.messages[channel]:
        raise Refusal("thread_not_found")
    found = [
        m
        for m in slack.messages[channel].values()
        if m["ts"] == root or (m.get("thread_ts") == root and _between(args, m["ts"]))
    ]
    found.sort(key=lambda m: m["ts"])
    return _messages(slack, channel, args, found)


def info(slack: SlackDouble, app: App, args: Json) -> Json:
    return {"channel": slack.channels[room_of(slack, args)]}


def members(slack: SlackDouble, app: App, args: Json) -> Json:
    return paged(slack, args, "members", slack.members[room_of(slack, args)])


def user(slack: SlackDouble, app: App, args: Json) -> Json:
    user = str(args.get("user") or "")
    if user not in slack.users:
        raise Refusal("user_not_found")
    return {"user": slack.users[user]}


def every(slack: SlackDouble, app: App, args: Json) -> Json:
    """conversations.list: also the channels that the app isn't in."""
    kinds = {TYPES[name] for name in types_of(args)}
    found = [
        channel if channel["is_im"] else {**channel, "is_member": app.user in slack.members[name]}
        for name, channel in slack.channels.items()
        if slack.channel_type(name) in kinds
    ]
    return paged(slack, args, "channels", found)


def conversations(slack: SlackDouble, app: App, args: Json) -> Json:
    kinds = {TYPES[name] for name in types_of(args)}
    hidden = true(args.get("exclude_archived"))
    found = [
        {**channel, "is_member": True}
        for name, channel in slack.channels.items()
        if app.user in slack.members[name]
        and slack.channel_type(name) in kinds
        and not (hidden and channel.get("is_archived"))
    ]
    return paged(slack, args, "channels", found)
