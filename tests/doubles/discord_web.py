"""The methods of Discord's HTTP API that the double knows: what they check, change and answer.

What they refuse, and with which number, is from docs.discord.com, read 2026-11.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import BodyPartReader, web

from tests.doubles import discord_objects as objects
from tests.doubles.discord_objects import dm_channel, message, snowflake, stamp

if TYPE_CHECKING:
    from tests.doubles.discord import DiscordDouble

Json = dict[str, Any]

_EMBEDS = 1 << 2

Handler = Callable[["DiscordDouble", "Asked"], Any]


class Refusal(Exception):
    """An answer that is no."""

    def __init__(self, status: int, code: int, text: str, **errors: Any) -> None:
        super().__init__(text)
        self.status, self.body = status, {"message": text, "code": code}
        if errors:
            self.body["errors"] = errors


@dataclass(frozen=True, slots=True)
class Asked:
    """One call. ids: what its path names. files: (name, bytes) of a multipart body."""

    method: str
    route: str
    ids: Json
    query: Json
    body: Any = None
    files: list[tuple[str, bytes]] = field(default_factory=list)


def invalid(where: str, code: str, text: str) -> Refusal:
    errors = {where: {"_errors": [{"code": code, "message": text}]}}
    return Refusal(400, 50035, "Invalid Form Body", **errors)


# ── Reading a call ──────────────────────────────────────────────────────────────────────


async def asked_of(request: web.Request, route: str) -> Asked:
    body: Any = None
    files: list[tuple[str, bytes]] = []
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            data = bytes(await part.read(decode=True))
            if part.filename:
                files.append((part.filename, data))
            elif part.name == "payload_json":
                body = json.loads(data)
    elif request.can_read_body:
        if request.content_type != "application/json":
            raise Refusal(400, 50109, "The request body contains invalid JSON.")
        body = await request.json()
    ids = dict(request.match_info)
    return Asked(request.method, route, ids, dict(request.query), body, files)


# ── What is looked up ───────────────────────────────────────────────────────────────────


def _channel(discord: DiscordDouble, asked: Asked) -> Json:
    channel = discord.channels.get(asked.ids["channel"])
    if channel is None:
        raise Refusal(404, 10003, "Unknown Channel")
    if channel["id"] in discord.hidden:
        raise Refusal(403, 50001, "Missing Access")
    return channel


def _message(discord: DiscordDouble, asked: Asked) -> Json:
    channel = _channel(discord, asked)
    found = discord.messages[channel["id"]].get(asked.ids["message"])
    if found is None:
        raise Refusal(404, 10008, "Unknown Message")
    return found


def _own(discord: DiscordDouble, asked: Asked) -> Json:
    found = _message(discord, asked)
    if found["author"]["id"] != discord.bot["id"]:
        raise Refusal(403, 50005, "Cannot edit a message authored by another user")
    return found


# ── Messages ────────────────────────────────────────────────────────────────────────────


def _check(discord: DiscordDouble, asked: Asked, *, new: bool) -> Json:
    body = asked.body
    if not isinstance(body, dict):
        raise Refusal(400, 50109, "The request body contains invalid JSON.")
    content = body.get("content") or ""
    if len(content) > 2000:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
    if new and not content.strip() and not asked.files and not body.get("embeds"):
        raise Refusal(400, 50006, "Cannot send an empty message")
    if len(str(body.get("nonce") or "")) > 25:
        raise invalid("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    mentions = body.get("allowed_mentions") or {}
    if "users" in (mentions.get("parse") or ()) and mentions.get("users"):
        raise invalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "exclusive")
    if len(mentions.get("users") or ()) > 100:
        raise invalid("allowed_mentions", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer.")
    _check_components(body.get("components") or [])
    return body


def _check_components(rows: list[Json]) -> None:
    if len(rows) > 5:
        raise invalid("components", "BASE_TYPE_MAX_LENGTH", "Must be 5 or fewer in length.")
    ids: set[str] = set()
    for row in rows:
        buttons = row.get("components") or []
        if row.get("type") != 1 or not 1 <= len(buttons) <= 5:
            raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5.")
        for button in buttons:
            custom, label = button.get("custom_id") or "", button.get("label") or ""
            if not 1 <= len(custom) <= 100 or not 1 <= len(label) <= 80 or custom in ids:
                raise invalid("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "a bad button")
            ids.add(custom)


def _history(discord: DiscordDouble, asked: Asked) -> list[Json]:
    channel = _channel(discord, asked)["id"]
    limit = int(asked.query.get("limit") or 50)
    if not 1 <= limit <= 100:
        raise invalid("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
    after, before = int(asked.query.get("after") or 0), int(asked.query.get("before") or 2**63)
    found = sorted(int(m) for m in discord.messages[channel] if after < int(m) < before)
    page = found[:limit] if "after" in asked.query else found[-limit:]
    return [discord.told(discord.messages[channel][str(m)]) for m in reversed(page)]


async def _create(discord: DiscordDouble, asked: Asked) -> Json:
    channel, body = _channel(discord, asked), _check(discord, asked, new=True)
    nonce = body.get("nonce")
    if nonce and body.get("enforce_nonce"):
        made = discord.nonces.get((channel["id"], str(nonce)))
        if made is not None and made in discord.messages[channel["id"]]:
            return discord.told(discord.messages[channel["id"]][made]) | {"nonce": nonce}
    more: Json = {"flags": int(body.get("flags") or 0) & (_EMBEDS | 1 << 12)}
    more |= _reply(discord, channel["id"], body.get("message_reference"))
    more["components"] = _numbered(body.get("components") or [])
    more["attachments"] = [discord.file(name, data) for name, data in asked.files]
    content = str(body.get("content") or "")
    written = message(channel["id"], discord.bot, content, **more)
    written["mentions"] = _told_users(discord, written, body.get("allowed_mentions"))
    if nonce:
        discord.nonces[channel["id"], str(nonce)] = written["id"]
    await discord.publish(written, nonce=nonce)
    return discord.told(written) | ({"nonce": nonce} if nonce else {})


def _reply(discord: DiscordDouble, channel: str, reference: Json | None) -> Json:
    if not reference or "message_id" not in reference:
        return {}
    target = str(reference["message_id"])
    if target not in discord.messages[channel]:
        if reference.get("fail_if_not_exists", True):
            raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return {}
    guild = discord.channels[channel].get("guild_id")
    told = {"type": 0, "channel_id": channel, "message_id": target}
    return {"type": 19, "message_reference": told | ({"guild_id": guild} if guild else {})}


def _told_users(discord: DiscordDouble, written: Json, allowed: Json | None) -> list[Json]:
    """Whom a message tells: those it tags, as far as that was allowed."""
    tagged = re.findall(r"<@!?(\d+)>", written["content"])
    if allowed is not None and "users" not in (allowed.get("parse") or ()):
        tagged = [user for user in tagged if user in (allowed.get("users") or ())]
    target = (written.get("message_reference") or {}).get("message_id")
    if target and (allowed or {}).get("replied_user"):
        tagged.append(discord.messages[written["channel_id"]][target]["author"]["id"])
    return [discord.users[user] for user in dict.fromkeys(tagged) if user in discord.users]


def _numbered(rows: list[Json]) -> list[Json]:
    """Components as Discord tells them: each with a number."""
    return [
        {
            **row,
            "id": 10 * r + 1,
            "components": [
                {"disabled": False, **button, "id": 10 * r + 2 + b}
                for b, button in enumerate(row["components"])
            ],
        }
        for r, row in enumerate(rows)
    ]


def _get(discord: DiscordDouble, asked: Asked) -> Json:
    return discord.told(_message(discord, asked))


async def _edit(discord: DiscordDouble, asked: Asked) -> Json:
    written, body = _own(discord, asked), _check(discord, asked, new=False)
    if "content" in body:
        if not (body["content"] or "").strip() and not written["attachments"]:
            raise Refusal(400, 50006, "Cannot send an empty message")
        written |= {"content": body["content"], "edited_timestamp": stamp()}
    if "components" in body:
        written["components"] = _numbered(body["components"] or [])
    await discord.tell_message("MESSAGE_UPDATE", written)
    return discord.told(written)


async def _delete(discord: DiscordDouble, asked: Asked) -> None:
    written = _own(discord, asked)
    await discord.remove(written["channel_id"], written["id"])


async def _react(discord: DiscordDouble, asked: Asked) -> None:
    written, emoji = _message(discord, asked), asked.ids["emoji"]
    if emoji.isascii():
        raise Refusal(400, 10014, "Unknown Emoji")
    discord.reactions[written["id"]].setdefault(emoji, set()).add(discord.bot["id"])


async def _unreact(discord: DiscordDouble, asked: Asked) -> None:
    written, emoji = _message(discord, asked), asked.ids["emoji"]
    discord.reactions[written["id"]].get(emoji, set()).discard(discord.bot["id"])


async def _typing(discord: DiscordDouble, asked: Asked) -> None:
    discord.typed.append(_channel(discord, asked)["id"])


async def _thread(discord: DiscordDouble, asked: Asked) -> Json:
    written = _message(discord, asked)
    if not discord.permissions & objects.BEGIN_THREADS:
        raise Refusal(403, 50013, "Missing Permissions")
    name = str(asked.body.get("name") or "")
    if not 1 <= len(name) <= 100:
        raise invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    if written["id"] in discord.channels:
        raise Refusal(400, 160004, "A thread has already been created for this message")
    await discord.open_thread(written["channel_id"], name, under=written["id"])
    return discord.channels[written["id"]]


def _let_in(discord: DiscordDouble, asked: Asked) -> None:
    thread = _channel(discord, asked)
    if "thread_metadata" not in thread or asked.ids["user"] not in discord.members:
        raise Refusal(404, 10013, "Unknown User")
    discord.thread_members.setdefault(thread["id"], set()).add(asked.ids["user"])


def _archived(kind: int) -> Handler:
    """The archived threads of a channel: of public ones the one that was archived last before the
    others, of private ones the newest."""
    place = _archived_at if kind == 11 else _id

    def listed(discord: DiscordDouble, asked: Asked) -> Json:
        parent, limit = _channel(discord, asked)["id"], int(asked.query.get("limit") or 50)
        if not 2 <= limit <= 100:
            raise invalid("limit", "NUMBER_TYPE_MIN", "int value should be between 2 and 100.")
        threads = [
            channel
            for channel in discord.channels.values()
            if channel.get("parent_id") == parent
            and channel["type"] == kind
            and channel["thread_metadata"]["archived"]
            and place(channel) < asked.query.get("before", "~")
        ]
        threads.sort(key=place, reverse=True)
        return {"threads": threads[:limit], "members": [], "has_more": len(threads) > limit}

    return listed


def _id(thread: Json) -> str:
    return str(thread["id"])


def _archived_at(thread: Json) -> str:
    return str(thread["thread_metadata"]["archive_timestamp"])


# ── Everything else ─────────────────────────────────────────────────────────────────────


def _guild_member(discord: DiscordDouble, asked: Asked) -> Json:
    found = discord.members.get(asked.ids["user"])
    if asked.ids["guild"] != discord.guild["id"]:
        raise Refusal(404, 10004, "Unknown Guild")
    if found is None:
        raise Refusal(404, 10007, "Unknown Member")
    return found


def _guild_members(discord: DiscordDouble, asked: Asked) -> list[Json]:
    if not discord.flags & (1 << 14 | 1 << 15):
        raise Refusal(403, 50001, "Missing Access")
    limit = int(asked.query.get("limit") or 1)
    return list(discord.members.values())[:limit]


def _guilds(discord: DiscordDouble, asked: Asked) -> list[Json]:
    if not discord.invited:
        return []
    return [
        {
            "id": discord.guild["id"],
            "name": discord.guild["name"],
            "icon": None,
            "banner": None,
            "owner": False,
            "permissions": str(discord.permissions),
            "features": [],
        }
    ]


def _open_dm(discord: DiscordDouble, asked: Asked) -> Json:
    user = discord.users.get(str(asked.body.get("recipient_id")))
    if user is None:
        raise Refusal(400, 50033, "Invalid Recipient(s)")
    for channel in discord.channels.values():
        if channel["type"] == 1 and channel["recipients"][0]["id"] == user["id"]:
            return channel
    channel = dm_channel(snowflake(), user)
    discord.channels[channel["id"]] = channel
    return channel


def _register(discord: DiscordDouble, asked: Asked) -> list[Json]:
    if asked.ids["application"] != discord.application_id:
        raise Refusal(403, 20012, "You are not authorized to perform this action")
    for command in asked.body:
        _check_command(command)
    menus = [command for command in asked.body if command.get("type", 1) == 3]
    if len(menus) > 5:
        raise Refusal(400, 30032, "Maximum number of application commands reached (5).")
    discord.commands = list(asked.body)
    return [_command(discord, command) for command in asked.body]


def _check_command(command: Json) -> None:
    in_menu = command.get("type", 1) != 1
    if not re.fullmatch(r"[-_ \w]{1,32}" if in_menu else r"[-_\w]{1,32}", command["name"]):
        raise invalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if in_menu and (command.get("description") or command.get("options")):
        raise invalid("description", "APPLICATION_COMMAND_CONTEXT_MENU", "no description here")
    if not in_menu and not 1 <= len(command["description"]) <= 100:
        raise invalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100.")

    for option in command.get("options") or []:
        if option.get("autocomplete") and option.get("choices"):
            raise invalid("options", "APPLICATION_COMMAND_OPTION_CHOICES", "suggested or fixed")


def _check_choices(choices: list[Json]) -> None:
    texts = [text for choice in choices for text in (choice["name"], choice["value"])]
    if len(choices) > 25 or not all(1 <= len(text) <= 100 for text in texts):
        raise invalid("choices", "BASE_TYPE_BAD_LENGTH", "at most 25 of 1 to 100 in length.")


def _command(discord: DiscordDouble, command: Json) -> Json:
    told = {"id": snowflake(), "application_id": discord.application_id, "version": snowflake()}
    more = {"default_member_permissions": None, "dm_permission": True, "nsfw": False}
    integration = {"contexts": None, "integration_types": [0]}
    return {**told, **more, **integration, "type": 1, "description": "", **_given(command)}


def _given(command: Json) -> Json:
    return {name: value for name, value in command.items() if value is not None}


def _followup(discord: DiscordDouble, asked: Asked) -> Json:
    """One more answer to an interaction; only such as one person alone sees are known here."""
    found = (one for one in discord.interactions.values() if one.token == asked.ids["token"])
    interaction = next(found, None)
    if interaction is None or asked.ids["application"] != discord.application_id:
        raise Refusal(404, 10015, "Unknown Webhook")
    if interaction.answer is None:
        raise Refusal(404, 10008, "Unknown Message")
    if asked.body.get("flags") != 64 or not str(asked.body.get("content") or "").strip():
        raise invalid("content", "BASE_TYPE_REQUIRED", "what only one person sees has a text")
    interaction.whispers.append(str(asked.body["content"]))
    return {"id": snowflake(), "channel_id": interaction.channel, "flags": 64}


async def _callback(discord: DiscordDouble, asked: Asked) -> Json | None:
    interaction = discord.interactions.get(asked.ids["interaction"])
    if interaction is None or interaction.token != asked.ids["token"] or interaction.late:
        raise Refusal(404, 10062, "Unknown interaction")
    if interaction.answer is not None:
        raise Refusal(400, 40060, "Interaction has already been acknowledged.")
    if asked.body.get("type") not in ((8,) if interaction.type == 4 else (4, 5, 6, 7)):
        raise invalid("type", "BASE_TYPE_CHOICES", "a bad type")
    if interaction.type == 4:
        _check_choices(asked.body["data"]["choices"])
    interaction.answer = asked.body
    interaction.acked.set()
    if asked.body["type"] == 7 and interaction.message:
        written = discord.messages[interaction.channel][interaction.message]
        data = asked.body["data"]
        written["content"] = data.get("content", written["content"])
        written["components"] = _numbered(data.get("components", []))
        await discord.tell_message("MESSAGE_UPDATE", written)
    if asked.query.get("with_response") == "true":
        told = {"id": asked.ids["interaction"], "type": interaction.type}
        return {"interaction": told | {"response_message_ephemeral": True}}
    return None


METHODS: dict[tuple[str, str], Handler] = {
    ("GET", "/gateway"): lambda discord, asked: {"url": discord.gateway_url},
    ("GET", "/gateway/bot"): lambda discord, asked: {
        "url": discord.gateway_url,
        "shards": 1,
        "session_start_limit": {
            "total": 1000,
            "remaining": 999,
            "reset_after": 0,
            "max_concurrency": 1,
        },
    },
    ("GET", "/users/@me"): lambda discord, asked: discord.me(),
    ("GET", "/users/@me/guilds"): _guilds,
    ("POST", "/users/@me/channels"): _open_dm,
    ("GET", "/applications/@me"): lambda discord, asked: discord.application(),
    ("GET", "/oauth2/applications/@me"): lambda discord, asked: discord.application(),
    ("GET", "/channels/{channel}"): _channel,
    ("GET", "/channels/{channel}/messages"): _history,
    ("POST", "/channels/{channel}/messages"): _create,
    ("GET", "/channels/{channel}/messages/{message}"): _get,
    ("PATCH", "/channels/{channel}/messages/{message}"): _edit,
    ("DELETE", "/channels/{channel}/messages/{message}"): _delete,
    ("POST", "/channels/{channel}/messages/{message}/threads"): _thread,
    ("GET", "/channels/{channel}/threads/archived/public"): _archived(11),
    ("GET", "/channels/{channel}/users/@me/threads/archived/private"): _archived(12),
    ("PUT", "/channels/{channel}/thread-members/{user}"): _let_in,
    ("PUT", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"): _react,
    ("DELETE", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"): _unreact,
    ("POST", "/channels/{channel}/typing"): _typing,
    ("GET", "/guilds/{guild}/members"): _guild_members,
    ("GET", "/guilds/{guild}/members/{user}"): _guild_member,
    ("PUT", "/applications/{application}/commands"): _register,
    ("POST", "/interactions/{interaction}/{token}/callback"): _callback,
    ("POST", "/webhooks/{application}/{token}"): _followup,
}

# These ask for no token of the bot's.
OPEN = {
    ("GET", "/gateway"),
    ("POST", "/interactions/{interaction}/{token}/callback"),
    ("POST", "/webhooks/{application}/{token}"),
}


async def carried_out(discord: DiscordDouble, asked: Asked) -> Any:
    """Do it, and return the answer; None: 204. Raises Refusal."""
    answer = METHODS[asked.method, asked.route](discord, asked)
    return await answer if isinstance(answer, Awaitable) else answer
