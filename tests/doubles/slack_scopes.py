"""What a call of the double's Web API needs before it is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    "chat.postEphemeral": "chat:write",
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
    "chat.startStream": "chat:write",
    "chat.appendStream": "chat:write",
    "chat.stopStream": "chat:write",
    "agents.sessions.setStatus": "chat:write",
    "assistant.threads.setStatus": "chat:write",  # since 2026-03-05
    "assistant.threads.setSuggestedPrompts": "assistant:write",
}


# These need a scope for each kind of room.
_READS = {
    "conversations.history": "history",
    "conversations.replies": "history",
    "conversations.info": "read",
    "conversations.members": "read",
}


_KINDS = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


TYPES = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}


def needed_scopes(slack: SlackDouble, method: str, args: Json) -> set[str]:
    """What a call needs."""
    if method in _READS:
        channel = str(args.get("channel") or "")
        kind = slack.channel_type(channel) if channel in slack.channels else "channel"
        return {f"{_KINDS[kind]}:{_READS[method]}"}
    if method in ("users.conversations", "conversations.list"):
        return {f"{_KINDS[TYPES[name]]}:read" for name in types_of(args)}
    needed = {SCOPES[method]} if method in SCOPES else set()
    if args.get("username") or args.get("icon_url"):
        needed.add("chat:write.customize")
    return needed


def types_of(args: Json) -> list[str]:
    types = str(args.get("types") or "public_channel").split(",")
    if not set(types) <= TYPES.keys():
        raise Refusal("invalid_types")
    return types


def utf16(text: str) -> int:
    """The length as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


def true(value: Any) -> bool:
    return value in (True, "true", "1", 1)


def room_of(slack: SlackDouble, args: Json, name: str = "channel") -> str:
    channel = str(args.get(name) or "")
    if channel in slack.users:  # a person's id stands for the direct message with them
        channel = next((n for n, c in slack.channels.items() if c.get("user") == channel), "")
    if channel not in slack.channels:
        raise Refusal("channel_not_found")
    if slack.channels[channel].get("is_archived"):
        raise Refusal("is_archived")
    return channel
