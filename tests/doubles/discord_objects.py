"""What Discord's objects look like on the wire, as its own OpenAPI describes them."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

_EPOCH_MS = 1_420_070_400_000
_count = itertools.count()

VIEW, SEND, THREADS, HISTORY = 1 << 10, 1 << 11, 1 << 38, 1 << 16
REACT, ATTACH, BEGIN_THREADS = 1 << 6, 1 << 15, 1 << 35
EVERYTHING = VIEW | SEND | THREADS | HISTORY | REACT | ATTACH | BEGIN_THREADS


def snowflake() -> str:
    """A new id, greater than all before."""
    ms = int(time.time() * 1000) - _EPOCH_MS
    return str((ms << 22) + next(_count))


def stamp() -> str:
    return datetime.now(UTC).isoformat()


def user(user_id: str, name: str, *, bot: bool = False, shown: str | None = None) -> Json:
    return {
        "id": user_id,
        "username": name,
        "discriminator": "0000" if bot else "0",
        "global_name": shown,
        "avatar": None,
        "bot": bot,
        "flags": 0,
        "public_flags": 0,
        "avatar_decoration_data": None,
        "banner": None,
        "accent_color": None,
        "banner_color": None,
        "clan": None,
        "collectibles": None,
        "primary_guild": None,
    }


def role(role_id: str, name: str, position: int, **more: Any) -> Json:
    return {
        "id": role_id,
        "name": name,
        "description": None,
        "permissions": str(EVERYTHING),
        "position": position,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": False,
        "mentionable": True,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
        **more,
    }


def member(of: Json, *roles: str, nick: str | None = None) -> Json:
    return {
        "user": of,
        "nick": nick,
        "roles": list(roles),
        "avatar": None,
        "avatar_decoration_data": None,
        "banner": None,
        "collectibles": None,
        "communication_disabled_until": None,
        "joined_at": "2026-01-01T00:00:00+00:00",
        "premium_since": None,
        "flags": 0,
        "pending": False,
        "deaf": False,
        "mute": False,
    }


def text_channel(channel: str, guild: str, name: str, **more: Any) -> Json:
    return {
        "id": channel,
        "type": 0,
        "guild_id": guild,
        "name": name,
        "position": 0,
        "topic": None,
        "nsfw": False,
        "parent_id": None,
        "last_message_id": None,
        "last_pin_timestamp": None,
        "rate_limit_per_user": 0,
        "permission_overwrites": [],
        "flags": 0,
        **more,
    }


def dm_channel(channel: str, with_user: Json) -> Json:
    return {
        "id": channel,
        "type": 1,
        "last_message_id": None,
        "last_pin_timestamp": None,
        "flags": 0,
        "recipients": [with_user],
    }


def thread(thread_id: str, guild: str, parent: str, owner: str, name: str) -> Json:
    return {
        "id": thread_id,
        "type": 11,
        "guild_id": guild,
        "parent_id": parent,
        "owner_id": owner,
        "name": name,
        "last_message_id": None,
        "last_pin_timestamp": None,
        "rate_limit_per_user": 0,
        "message_count": 0,
        "member_count": 1,
        "total_message_sent": 0,
        "flags": 0,
        "thread_metadata": {
            "archived": False,
            "archive_timestamp": stamp(),
            "auto_archive_duration": 1440,
            "locked": False,
            "create_timestamp": stamp(),
        },
    }


def message(channel: str, author: Json, content: str, **more: Any) -> Json:
    """As the history tells it; an event adds `guild_id` and `member`."""
    return {
        "id": snowflake(),
        "type": 0,
        "channel_id": channel,
        "author": author,
        "content": content,
        "timestamp": stamp(),
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "components": [],
        "pinned": False,
        "flags": 0,
        **more,
    }


def application(app_id: str, bot: Json, flags: int) -> Json:
    return {
        "id": app_id,
        "name": bot["username"],
        "icon": None,
        "description": "",
        "type": None,
        "summary": "",
        "bot": bot,
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": flags,
        "flags_new": str(flags),
        "owner": user("90000000000000009", "owner", shown="Owner"),
        "team": None,
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "is_monetized": False,
        "is_verified": False,
        "is_discoverable": False,
        "integration_types_config": {},
        "hook": True,
        "storefront_available": False,
        "max_participants": None,
        "tags": [],
        "creator_monetization_state": 1,
        "discoverability_state": 1,
        "discovery_eligibility_flags": 0,
        "event_webhooks_status": 1,
        "event_webhooks_types": [],
        "event_webhooks_url": None,
        "internal_guild_restriction": 1,
        "interactions_event_types": [],
        "interactions_version": 1,
        "monetization_eligibility_flags": 0,
        "monetization_state": 1,
        "rpc_application_state": 0,
        "eligible_oauth2_scopes": [],
        "store_application_state": 1,
        "verification_state": 1,
    }
